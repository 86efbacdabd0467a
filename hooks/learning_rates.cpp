#include <cmath>

#include "belfry/framework/base/error.h"
#include "belfry/hooks/gradient_edits.h"
#include "belfry/hooks/name_patterns.h"

namespace belfry::hooks {
namespace {

std::vector<std::string> patterns_of(const std::vector<RateMultiplier>& rules) {
  std::vector<std::string> out;
  for (const RateMultiplier& rule : rules) out.push_back(rule.pattern);
  return out;
}

class LearningRates final : public NamingHook {
 public:
  explicit LearningRates(std::vector<RateMultiplier> rules)
      : NamingHook({"learning_rates", patterns_of(rules)}), rules_(std::move(rules)) {
    require(!rules_.empty(), "learning_rates: no pattern is given");
    for (const auto& [pattern, multiplier] : rules_)
      require(std::isfinite(multiplier) && multiplier >= 0, "learning_rates: the multiplier of `",
              pattern, "` is ", multiplier, "; it must be finite and at least 0");
  }

  void on_gradients(GradientStage& stage) override {
    for (VariableGradient& entry : stage.gradients)
      if (auto rule = patterns_.find(entry.variable.name())) entry.rate *= rules_[*rule].multiplier;
  }

 private:
  std::vector<RateMultiplier> rules_;
};

}  // namespace

std::shared_ptr<Hook> learning_rates(std::vector<RateMultiplier> rules) {
  return std::make_shared<LearningRates>(std::move(rules));
}

}  // namespace belfry::hooks
