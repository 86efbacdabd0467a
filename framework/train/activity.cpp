#include "belfry/framework/train/activity.h"

#include <utility>

namespace belfry {
namespace {

thread_local ActivitySink sink;

void tell(const Activity& activity) {
  if (sink) sink(activity);
}

}  // namespace

ActivitySink set_activity_sink(ActivitySink other) { return std::exchange(sink, std::move(other)); }

ActivityScope::ActivityScope(Activity activity) : activity_(std::move(activity)) {
  tell(activity_);
}

ActivityScope::~ActivityScope() { tell({}); }

void ActivityScope::done(std::int64_t count) {
  activity_.done = count;
  tell(activity_);
}

}  // namespace belfry
