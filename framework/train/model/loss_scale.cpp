#include "belfry/framework/train/model/loss_scale.h"

#include <algorithm>
#include <map>

#include "belfry/framework/base/log.h"
#include "belfry/framework/distribute/variables.h"
#include "belfry/framework/graph/leaves.h"
#include "belfry/framework/graph/scope.h"
#include "belfry/framework/ops/math.h"
#include "belfry/framework/optimizers/minimize.h"

namespace belfry {
namespace {

constexpr double first_scale = 1 << 15;
constexpr double steps_until_doubled = 2000;
constexpr std::string_view scale_name = "loss_scale", good_steps_name = "loss_scale_good_steps";

std::string full_name(std::string_view name, std::size_t update) {
  return concat(name, "/", update);
}

// One of the model's own has another kind.
Variable find_or_make(Graph& graph, std::size_t update, std::string_view name, double first) {
  Node* known = graph.find_variable(full_name(name, update));
  if (known && known->as<VariableOptions>().kind == VariableKind::slot) return Variable(*known);
  return with_context("while making the loss scale of Precision::f16", [&] {
    return (Scope(graph) / name)
        .variable(text(update), {.initializer = constant_value(first), .kind = VariableKind::slot});
  });
}

Variable scale_of(Graph& graph, std::size_t update) {
  return find_or_make(graph, update, scale_name, first_scale);
}

class UnscaleLoss final : public Hook {
 public:
  void on_gradients(GradientStage& stage) override {
    if (stage.gradients.empty()) return;
    Tensor scale = scale_of(stage.update.loss.graph(), stage.index);
    Tensor finite = all_finite(stage.gradients);
    for (VariableGradient& entry : stage.gradients) entry.gradient = divided(entry.gradient, scale);
    stage.condition = stage.condition.defined() ? logical_and(stage.condition, finite) : finite;
    adjust(scale_of(stage.update.loss.graph(), stage.index),
           find_or_make(stage.update.loss.graph(), stage.index, good_steps_name, 0), finite);
  }

 private:
  // In f32: the scale may be too large for f16.
  static Tensor divided(Tensor gradient, Tensor scale) {
    if (gradient.dtype() == DType::f64) return gradient / cast(scale, DType::f64);
    return cast(cast(gradient, DType::f32) / scale, gradient.dtype());
  }
  static void adjust(Variable scale, Variable good_steps, Tensor finite) {
    Tensor good = good_steps.value() + 1;
    Tensor grows = logical_and(finite, greater_equal(good, good * 0 + steps_until_doubled));
    Tensor larger = where(grows, scale.value() * 2, scale.value());
    Tensor smaller = maximum(scale.value() * 0.5, scale.value() * 0 + 1);
    assign(scale, where(finite, larger, smaller));
    assign(good_steps, where(logical_and(finite, logical_not(grows)), good, good * 0));
  }
};

// Reads the variables in the few steps in which they may have changed: on a GPU it has to wait for
// the step that is under way.
class WatchLossScale final : public Hook {
 public:
  void on_gradients(GradientStage& stage) override {
    updates_[stage.index].title = stage.update.title();
  }
  void begin(HookContext& context) override {
    for (auto& [index, update] : updates_) read(context.variables(), index, update);
  }
  void after_step(const StepResult& result) override {
    for (auto& [index, update] : updates_)
      if (result.chosen.contains(index))
        look_at(index, update, result.applied.contains(index), result);
  }
  // So that below this scale, what is read is what this step left: one step halves it once.
  bool needs_result_now(HookContext&, std::int64_t) override {
    return std::any_of(updates_.begin(), updates_.end(),
                       [](const auto& entry) { return entry.second.scale <= 4; });
  }

 private:
  struct Watched {
    std::string title;
    double scale = first_scale, good_steps = 0;
  };

  static void read(const Variables& variables, std::size_t index, Watched& update) {
    std::string name = full_name(scale_name, index);
    if (!variables.contains(name)) return;  // an update of nothing
    update.scale = variables.read(name).item();
    update.good_steps = variables.read(full_name(good_steps_name, index)).item();
  }

  static void look_at(std::size_t index, Watched& update, bool applied, const StepResult& result) {
    update.good_steps += 1;
    if (applied && update.good_steps < steps_until_doubled) return;
    double before = update.scale;
    read(result.context.variables(), index, update);
    // An update that a hook's condition held back, with finite gradients, counts as a good step.
    require(applied || before > 1 || update.good_steps > 0, "the update `", update.title,
            "` was skipped in step ", result.step,
            " because its gradients are not finite, with a loss scale of 1, the least; f16 is too "
            "narrow for this model, or it produces NaN or infinity in any type: train with "
            "Precision::bf16 or f32, where RunConfig::check_numerics names the first op that does");
    if (update.scale != before && result.context.is_chief())
      log_info("step ", result.step, ": the loss scale of `", update.title, "` is ",
               update.scale < before ? "halved" : "doubled", " to ", update.scale);
  }

  std::map<std::size_t, Watched> updates_;  // by GradientStage::index
};

}  // namespace

Tensor loss_scale(Graph& graph, std::size_t update) { return scale_of(graph, update); }

std::shared_ptr<Hook> unscale_loss() { return std::make_shared<UnscaleLoss>(); }

std::shared_ptr<Hook> watch_loss_scale() { return std::make_shared<WatchLossScale>(); }

}  // namespace belfry
