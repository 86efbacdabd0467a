#pragma once
// The things that a thread does beside training steps, for whoever shows it.

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

namespace belfry {

struct Activity {
  std::string what = {};                   ///< "evaluating"; empty: nothing any more
  std::int64_t done = 0;                   ///< batches so far
  std::optional<std::int64_t> total = {};  ///< of them, where it is known
};

/// Hears of each batch: it should take no time to speak of. An empty one forgets them.
using ActivitySink = std::function<void(const Activity& activity)>;
/// Sets the one of this thread. Returns the one that was in place.
ActivitySink set_activity_sink(ActivitySink sink);

/// While it lives, this thread is at something else than training steps.
class ActivityScope {
 public:
  explicit ActivityScope(Activity activity);
  ~ActivityScope();
  ActivityScope(const ActivityScope&) = delete;
  ActivityScope& operator=(const ActivityScope&) = delete;

  /// So many batches are done.
  void done(std::int64_t count);

 private:
  Activity activity_;
};

}  // namespace belfry
