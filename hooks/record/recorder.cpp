#include "belfry/hooks/record/recorder.h"

#include <algorithm>
#include <set>

#include "belfry/framework/base/log.h"
#include "belfry/framework/distribute/variables.h"
#include "belfry/hooks/record/values.h"

namespace belfry::hooks {

void ScheduledRates::record(const GradientStage& stage) {
  const Update& update = stage.update;
  rates_.erase(stage.index);  // not assigned to: its graph would go before its evaluator
  rates_.emplace(stage.index, Rate{.title = update.title(),
                                   .schedule = update.optimizer.learning_rate,
                                   .counter = update.schedule_by_counter ? update.counter : ""});
  built_ = false;
}

bool ScheduledRates::reads_variables() const {
  return std::any_of(rates_.begin(), rates_.end(),
                     [](const auto& entry) { return !entry.second.counter.empty(); });
}

NamedValues ScheduledRates::read(std::int64_t steps, HookContext& context) {
  if (!std::exchange(built_, true))
    for (auto& [index, rate] : rates_) build(rate);
  NamedValues out;
  std::set<std::string> names;
  for (auto& [index, rate] : rates_) {
    std::string name = "learning_rate";
    if (rates_.size() > 1) name += "/" + rate.title;
    if (!names.insert(name).second) name += concat("_", index);
    if (!rate.evaluator) continue;
    std::int64_t finished =
        rate.counter.empty()
            ? steps
            : static_cast<std::int64_t>(context.variables().read(rate.counter).item());
    std::int64_t before = std::max<std::int64_t>(finished - 1, 0);
    out.emplace_back(name, (*rate.evaluator)({{"step", Array::scalar(before)}})[0].item());
  }
  return out;
}

void ScheduledRates::build(Rate& rate) const {
  rate.evaluator.reset();
  try {
    rate.graph = std::make_unique<Graph>();
    Tensor step = input(*rate.graph, "step", {{}, DType::i64});
    rate.evaluator = std::make_unique<Evaluator>(std::vector{rate.schedule(step)},
                                                 EvaluateOptions{.fast = false});
  } catch (const Error& error) {
    log_warning("the learning rate of ", rate.title, " is not recorded: ", error.what());
  }
}

// Models are built before training begins, and again for batches of another shape: the same model,
// with the same updates.
void Recorder::after_apply(const GradientStage& stage) {
  if (!begun_) rates_.record(stage);
}

void Recorder::begin(const HookContext& context) {
  begun_ = true;
  active_ = context.is_chief();
  cadence_ = Cadence(o_.every);
  due_ = has_due_ = false;
  total_ = {};
  if (!active_) rates_.clear();
}

bool Recorder::needs_result_now(HookContext& context, std::int64_t step) {
  if (!active_) return false;
  asked_ = o_.clock();
  due_ = cadence_.due(step, asked_) || (o_.last_step && step == context.last_step());
  return due_ && rates_.reads_variables();
}

std::optional<Record> Recorder::after_step(const StepResult& result) {
  if (!active_) return std::nullopt;
  meter_.add(result);
  total_ += sums_of(result);
  bool due = std::exchange(due_, false);
  if (!due && (!o_.not_finite || is_finite(result))) return std::nullopt;
  Record out{.step = result.step, .values = {{"loss", result.loss}}};
  for (const auto& value : result.values)
    if (value.first != "loss") out.values.push_back(value);
  if (!due) return out;
  cadence_.triggered(result.step, asked_);
  out.learning_rates = rates_.read(result.step, result.context);
  StepSums sums = meter_.collect(result.context, o_.clock());
  if (std::exchange(has_due_, true) && sums.seconds > 0) out.speed = sums;
  return out;
}

void Recorder::end() {
  rates_.clear();
  begun_ = active_ = false;
}

}  // namespace belfry::hooks
