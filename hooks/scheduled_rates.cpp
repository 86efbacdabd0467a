#include "belfry/hooks/scheduled_rates.h"

#include <algorithm>
#include <set>

#include "belfry/framework/base/log.h"
#include "belfry/framework/distribute/variables.h"

namespace belfry::hooks {

void ScheduledRates::take(const GradientStage& stage) {
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

std::vector<std::pair<std::string, double>> ScheduledRates::read(std::int64_t steps,
                                                                 HookContext& context) {
  if (!std::exchange(built_, true))
    for (auto& [index, rate] : rates_) build(rate);
  std::vector<std::pair<std::string, double>> out;
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
    log_warning("summaries: the learning rate of ", rate.title, " is left out: ", error.what());
  }
}

}  // namespace belfry::hooks
