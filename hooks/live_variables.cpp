#include "belfry/hooks/live_variables.h"

#include <algorithm>
#include <cmath>

#include "belfry/framework/base/error.h"
#include "belfry/framework/optimizers/optimizers.h"

namespace belfry::hooks {

bool has_turn(const HookContext& context, std::int64_t step, Steps every) {
  return step % every.count == 0 || step == context.last_step();
}

bool is_finite(const StepResult& result) {
  return std::isfinite(result.loss) && std::ranges::all_of(result.values, [](const auto& named) {
           return std::isfinite(named.second);
         });
}

std::string results_text(const EvalResult& results) {
  std::vector<std::string> parts;
  for (const auto& [name, value] : results)
    if (name != "global_step" && value.elements() == 1)
      parts.push_back(concat(name, " = ", static_cast<float>(value.item())));
  return join(parts, ", ");
}

void check_averages(const std::string& owner, Estimator& estimator) {
  std::vector<std::string> names = estimator.variable_names();
  auto is_average = [](const std::string& name) { return name.ends_with(moving_average_suffix); };
  require(std::ranges::any_of(names, is_average), owner,
          ": averaged is set, but no variable has a moving average; add hooks::moving_average() to "
          "TrainOptions::hooks");
}

void check_every(const char* hook, Steps every) {
  require(every.count >= 1, hook, ": every must be at least 1, got ", every.count);
}

}  // namespace belfry::hooks
