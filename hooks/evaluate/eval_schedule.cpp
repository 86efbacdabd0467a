#include "belfry/hooks/evaluate/eval_schedule.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "belfry/framework/base/error.h"

namespace belfry::hooks {
namespace {

std::int64_t examples_between(const Epochs& epochs) { return epochs.count * epochs.examples; }

}  // namespace

EvalSchedule::EvalSchedule(const std::string& owner, const EvalSpec& spec)
    : trigger_(spec.every),
      throttle_(std::chrono::duration<double>(spec.throttle).count()),
      start_delay_(std::chrono::duration<double>(spec.start_delay).count()) {
  if (auto* steps = std::get_if<Steps>(&trigger_))
    require(steps->count >= 1, owner, ": every must be at least 1 step, got ", steps->count);
  if (auto* time = std::get_if<std::chrono::milliseconds>(&trigger_))
    require(time->count() > 0, owner, ": every must be above 0, got ", Every(*time));
  if (auto* epochs = std::get_if<Epochs>(&trigger_)) {
    require(epochs->count >= 1, owner, ": every must be at least 1 epoch, got ", epochs->count);
    require(epochs->examples >= 1, owner,
            ": Epochs::examples must say how many examples a pass over the training data has, got ",
            epochs->examples);
    require(epochs->count <= std::numeric_limits<std::int64_t>::max() / epochs->examples, owner,
            ": every = ", epochs->count, " epochs of ", epochs->examples,
            " examples are more than can be counted; set fewer epochs");
  }
  require(throttle_ >= 0, owner, ": throttle must be at least 0 s, got ", throttle_);
  require(start_delay_ >= 0, owner, ": start_delay must be at least 0 s, got ", start_delay_);
}

void EvalSchedule::begin(const HookContext& context) {
  began_ = counted_from_ = context.clock();
  last_.reset();
}

bool EvalSchedule::may_be_due(const HookContext& context, std::int64_t step) const {
  if (step == context.last_step()) return true;
  if (auto* steps = std::get_if<Steps>(&trigger_)) return step % steps->count == 0;
  if (auto* time = std::get_if<std::chrono::milliseconds>(&trigger_))
    return context.clock() - counted_from_ >= in_seconds(*time);
  if (auto* epochs = std::get_if<Epochs>(&trigger_)) {
    // The rows of this step are not known yet. If there are more than in any batch before, the
    // epoch is seen to have ended one step later.
    std::int64_t between = examples_between(*epochs);
    return epoch_ended_ || largest_batch_ == 0 || largest_batch_ >= between - examples_ % between;
  }
  return false;
}

bool EvalSchedule::due(const HookContext& context, const StepResult& result, bool settled) {
  if (auto* epochs = std::get_if<Epochs>(&trigger_)) {
    std::int64_t between = examples_between(*epochs), before = examples_ / between;
    examples_ += result.rows;
    largest_batch_ = std::max(largest_batch_, result.rows);
    epoch_ended_ |= examples_ / between > before;
  }
  if (!settled) return false;
  if (result.step == context.last_step()) return true;
  if (std::holds_alternative<Epochs>(trigger_) && !std::exchange(epoch_ended_, false)) return false;
  return allows(context);
}

bool EvalSchedule::allows(const HookContext& context) const {
  double now = context.clock();
  return now - began_ >= start_delay_ && (!last_ || now - *last_ >= throttle_);
}

void EvalSchedule::evaluated(const HookContext& context) {
  last_ = counted_from_ = context.clock();
}

}  // namespace belfry::hooks
