#include "belfry/hooks/gradient_edits.h"

#include <cmath>
#include <utility>

#include "belfry/framework/base/error.h"
#include "belfry/hooks/name_patterns.h"

namespace belfry::hooks {
namespace {

struct EditGradients final : Hook {
  explicit EditGradients(std::function<Gradients(const Gradients&)> e) : edit(std::move(e)) {}
  void on_gradients(GradientStage& stage) override { stage.gradients = edit(stage.gradients); }
  std::function<Gradients(const Gradients&)> edit;
};

}  // namespace

std::shared_ptr<Hook> edit_gradients(std::function<Gradients(const Gradients&)> edit) {
  require(edit != nullptr, "edit_gradients: the function is empty");
  return std::make_shared<EditGradients>(std::move(edit));
}

std::shared_ptr<Hook> clip_by_global_norm(double max_norm) {
  require(std::isfinite(max_norm) && max_norm > 0, "clip_by_global_norm: max_norm is ", max_norm,
          "; it must be finite and above 0");
  return edit_gradients([=](const Gradients& gradients) {
    return belfry::clip_by_global_norm(gradients, max_norm).gradients;
  });
}

std::shared_ptr<Hook> clip_by_value(double limit) {
  belfry::clip_by_value({}, limit);
  return edit_gradients(
      [=](const Gradients& gradients) { return belfry::clip_by_value(gradients, limit); });
}

std::shared_ptr<Hook> clip_adaptive(AdaptiveClippingOptions options) {
  belfry::clip_adaptive({}, options);
  return edit_gradients(
      [=](const Gradients& gradients) { return belfry::clip_adaptive(gradients, options); });
}

std::shared_ptr<Hook> centralize_gradients() { return edit_gradients(centralize); }

std::shared_ptr<Hook> gradient_noise(GradientNoiseOptions options) {
  add_gradient_noise({}, options);
  return edit_gradients(
      [=](const Gradients& gradients) { return add_gradient_noise(gradients, options); });
}

std::shared_ptr<Hook> unscale_gradients(double scale) {
  unscale({}, scale);
  return edit_gradients([=](const Gradients& gradients) { return unscale(gradients, scale); });
}

namespace {

class Freeze final : public NamingHook {
 public:
  explicit Freeze(const std::vector<std::string>& patterns) : NamingHook({"freeze", patterns}) {
    require(!patterns.empty(), "freeze: no pattern is given");
  }

  void on_tower_gradients(GradientStage& stage) override {
    std::erase_if(stage.gradients, [&](const VariableGradient& entry) {
      return patterns_.find(entry.variable.name()).has_value();
    });
    require(!stage.gradients.empty(), "freeze: nothing is left to train in the update `",
            stage.update.title(), "`");
  }
};

}  // namespace

std::shared_ptr<Hook> freeze(std::vector<std::string> patterns) {
  return std::make_shared<Freeze>(patterns);
}

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
