#include "belfry/hooks/moving_average.h"

#include "belfry/hooks/name_patterns.h"

namespace belfry::hooks {
namespace {

class MovingAverage final : public NamingHook {
 public:
  explicit MovingAverage(const MovingAverageOptions& options)
      : NamingHook({"moving_average", options.patterns}), options_{options.decay, options.warm_up} {
    add_moving_averages({}, options_);
  }

  void after_apply(GradientStage& stage) override {
    std::vector<Variable> variables;
    for (const VariableGradient& entry : stage.gradients)
      if (patterns_.find(entry.variable.name()) || patterns_.empty())
        variables.push_back(entry.variable);
    add_moving_averages(variables, options_, stage.condition);
  }

 private:
  MovingAverageUpdateOptions options_;
};

}  // namespace

std::shared_ptr<Hook> moving_average(MovingAverageOptions options) {
  return std::make_shared<MovingAverage>(options);
}

}  // namespace belfry::hooks
