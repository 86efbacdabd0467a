#include <algorithm>

#include "belfry/framework/layers/layer_support.h"
#include "belfry/framework/layers/normalization.h"
#include "belfry/framework/ops/math.h"
#include "belfry/framework/ops/nn.h"

namespace belfry {
namespace {

Variable statistic(const Scope& s, const Tensor& x, std::string_view name, double value) {
  return s.variable(name, {.shape = {x.size(-1)},
                           .dtype = layers::statistics_dtype(x),
                           .initializer = constant_value(value),
                           .kind = VariableKind::statistic});
}

// What the variable will hold after the assignments made so far: a second call with the same
// variables continues from there, or the first call's batch would be forgotten.
Tensor pending_value(Variable variable) {
  Tensor value = variable;
  for (Node* effect : variable.node().graph().effects())
    if (effect->is(assign_op) && effect->input(0) == variable.value()) value = effect->input(1);
  return value;
}

void update(Variable moving, Tensor batch, double momentum) {
  Tensor before = pending_value(moving);
  assign(moving, before + (stop_gradient(batch) - before) * (1 - momentum));
}

}  // namespace

Tensor batch_norm(const Scope& s, Tensor x, BatchNormLayerOptions o) {
  layers::require_at(s, o.momentum >= 0 && o.momentum <= 1,
                     "batch_norm: momentum must be in [0, 1], got ", o.momentum);
  layers::require_at(s, o.epsilon > 0, "batch_norm: epsilon must be positive, got ", o.epsilon);
  layers::require_features(s, "batch_norm", x, 2);
  Graph::PlacementGuard guard(s.graph(), s.placement());
  auto [scale, offset] = layers::affine(s, x, o.scale, o.center);
  Variable moving_mean = statistic(s, x, "moving_mean", 0);
  Variable moving_variance = statistic(s, x, "moving_variance", 1);
  if (!o.training)
    return batch_norm_inference(x, scale, offset, moving_mean, moving_variance, o.epsilon);

  BatchNormResult result = batch_norm_train(x, scale, offset, o.epsilon);
  if (x.shape().elements() > 0) {  // no rows have no mean
    auto count = static_cast<double>(x.shape().elements() / x.size(-1));
    update(moving_mean, result.mean, o.momentum);
    update(moving_variance, result.variance * (count / std::max(1.0, count - 1)), o.momentum);
  }
  return result.y;
}

}  // namespace belfry
