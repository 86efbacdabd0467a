#include "belfry/framework/train/loss_scale.h"

#include "belfry/framework/graph/leaves.h"
#include "belfry/framework/graph/scope.h"
#include "belfry/framework/ops/math.h"
#include "belfry/framework/optimizers/gradient_edits.h"

namespace belfry {
namespace {

constexpr double first_scale = 1 << 15;
constexpr double steps_until_doubled = 2000;

Variable find_or_make(Graph& graph, std::size_t update, std::string_view name, double first) {
  std::string full = concat(name, "/", update);
  if (Node* known = graph.find_variable(full)) return Variable(*known);
  return (Scope(graph) / name)
      .variable(text(update), {.initializer = constant_value(first), .kind = VariableKind::slot});
}

Variable scale_of(Graph& graph, std::size_t update) {
  return find_or_make(graph, update, "loss_scale", first_scale);
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
           find_or_make(stage.update.loss.graph(), stage.index, "loss_scale_good_steps", 0),
           finite);
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

}  // namespace

Tensor loss_scale(Graph& graph, std::size_t update) { return scale_of(graph, update); }

std::shared_ptr<Hook> unscale_loss() { return std::make_shared<UnscaleLoss>(); }

}  // namespace belfry
