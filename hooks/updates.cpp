#include "belfry/hooks/updates.h"

#include <cmath>
#include <map>
#include <string>
#include <utility>

#include "belfry/framework/base/error.h"
#include "belfry/framework/base/log.h"
#include "belfry/framework/ops/math.h"
#include "belfry/framework/optimizers/minimize.h"
#include "belfry/hooks/name_patterns.h"

namespace belfry::hooks {
namespace {

struct EditGradients final : Hook {
  explicit EditGradients(std::function<Gradients(const Gradients&)> e) : edit(std::move(e)) {}
  void on_gradients(GradientStage& stage) override { stage.gradients = edit(stage.gradients); }
  std::function<Gradients(const Gradients&)> edit;
};

class Accumulate final : public Hook {
 public:
  explicit Accumulate(int micro_batches) : micro_batches_(micro_batches) {}
  int micro_batches() const override { return micro_batches_; }

 private:
  int micro_batches_;
};

class SkipNonFinite final : public Hook {
 public:
  explicit SkipNonFinite(const SkipNonFiniteOptions& options) : options_(options) {}

  void on_gradients(GradientStage& stage) override {
    updates_[stage.index].title = stage.update.title();
    if (stage.gradients.empty()) return;
    Tensor finite = all_finite(stage.gradients);
    stage.condition = stage.condition.defined() ? logical_and(stage.condition, finite) : finite;
  }
  void begin(HookContext&) override {
    for (auto& [index, update] : updates_) update.skipped = update.consecutive = 0;
  }
  void after_step(const StepResult& result) override {
    for (auto& [index, update] : updates_)
      if (result.chosen.contains(index)) count(update, result.applied.contains(index), result);
  }

 private:
  struct Counted {
    std::string title;
    std::int64_t skipped = 0, consecutive = 0;  // steps
  };

  void count(Counted& update, bool applied, const StepResult& result) const {
    if (applied) {
      update.consecutive = 0;
      return;
    }
    ++update.skipped, ++update.consecutive;
    require(update.consecutive <= options_.max_consecutive, "skip_non_finite: the update `",
            update.title, "` was skipped in ", update.consecutive, " steps in a row, up to step ",
            result.step,
            ", because gradients were not finite; a smaller learning rate or loss scale may help, "
            "and RunConfig::check_numerics names the first op that produced NaN or infinity");
    if (result.context.is_chief())
      log_warning("step ", result.step, ": skipped the update `", update.title,
                  "`, gradients are not finite (", update.skipped, " skipped so far)");
  }

  SkipNonFiniteOptions options_;
  std::map<std::size_t, Counted> updates_;  // by GradientStage::index
};

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

std::shared_ptr<Hook> accumulate(int micro_batches) {
  require(micro_batches >= 1, "hooks::accumulate: there must be at least 1 micro-batch, got ",
          micro_batches);
  return std::make_shared<Accumulate>(micro_batches);
}

std::shared_ptr<Hook> skip_non_finite(SkipNonFiniteOptions options) {
  require(options.max_consecutive >= 1, "skip_non_finite: max_consecutive is ",
          options.max_consecutive, "; it must be at least 1");
  return std::make_shared<SkipNonFinite>(options);
}

std::shared_ptr<Hook> moving_average(MovingAverageOptions options) {
  return std::make_shared<MovingAverage>(options);
}

}  // namespace belfry::hooks
