#pragma once
// One stop for the workers of a job. Internal to train/.

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <stop_token>
#include <thread>

#include "belfry/framework/base/linked_stop.h"
#include "belfry/framework/base/mutex.h"
#include "belfry/framework/distribute/workers.h"

namespace belfry {

/// While it lives, a request of `stop` is told to the other workers, and theirs requests it here,
/// as does their failure: this worker may be waiting for its input. Does nothing for one that is
/// alone. All workers make theirs at the same time.
class StopOfAll {
 public:
  /// `stop` outlives it. Error: there is no thread to listen on.
  StopOfAll(Workers& workers, LinkedStop& stop);
  ~StopOfAll();
  StopOfAll(const StopOfAll&) = delete;
  StopOfAll& operator=(const StopOfAll&) = delete;

 private:
  void listen();
  /// Waits for the end, at most so long; whether it has come.
  bool is_over_within(std::chrono::milliseconds time) BELFRY_REQUIRES(mutex_);
  bool others_want_to() noexcept;

  Workers& workers_;
  LinkedStop& stop_;
  std::int64_t work_ = 0;
  std::optional<std::stop_callback<std::function<void()>>> on_stop_;
  Mutex mutex_;
  Condition changed_;
  bool over_ BELFRY_GUARDED_BY(mutex_) = false;
  std::thread thread_;
};

}  // namespace belfry
