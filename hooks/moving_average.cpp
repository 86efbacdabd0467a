#include "belfry/hooks/moving_average.h"

#include "belfry/hooks/name_patterns.h"

namespace belfry::hooks {
namespace {

class MovingAverage final : public Hook {
 public:
  explicit MovingAverage(const MovingAverageOptions& options)
      : options_{options.decay, options.warm_up}, patterns_("moving_average", options.patterns) {
    add_moving_averages({}, options_);
  }

  void after_apply(GradientStage& stage) override {
    std::vector<Variable> variables;
    for (const VariableGradient& entry : stage.gradients)
      if (patterns_.find(entry.variable.name()) || patterns_.empty())
        variables.push_back(entry.variable);
    add_moving_averages(variables, options_, stage.condition);
  }
  // A pattern may be for one of several updates: only now all have been seen.
  void begin(HookContext&) override { patterns_.require_all_used(); }

 private:
  MovingAverageUpdateOptions options_;
  NamePatterns patterns_;
};

}  // namespace

std::shared_ptr<Hook> moving_average(MovingAverageOptions options) {
  return std::make_shared<MovingAverage>(options);
}

}  // namespace belfry::hooks
