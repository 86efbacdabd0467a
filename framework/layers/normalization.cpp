#include <algorithm>
#include <numeric>

#include "belfry/framework/layers/layer_support.h"
#include "belfry/framework/layers/layers.h"
#include "belfry/framework/ops/collective.h"
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

void update(Variable moving, Tensor batch, double momentum) {
  Tensor before = layers::pending_value(moving);
  assign(moving, before + (stop_gradient(batch) - before) * (1 - momentum));
}

struct SyncResult {
  BatchNormResult of_all;  // `variance` is the biased one
  Tensor count;            // elements of a channel
};

// The mean over all towers' elements first, then the variance around it: two passes, as exact as
// those of one tower.
SyncResult batch_norm_sync(Tensor x, Tensor scale, Tensor offset, double epsilon) {
  Graph& graph = x.graph();
  DType dtype = scale.dtype();
  Tensor wide = cast(x, dtype);
  std::vector<int> axes(x.rank() - 1);
  std::iota(axes.begin(), axes.end(), 0);
  Tensor counts = tower_has_rows(graph);
  auto over_all = [&](Tensor own) {
    return tower_sum(where(counts, own, constant(graph, 0, dtype)));
  };
  double own_count = x.shape().elements() / x.size(-1);
  Tensor count = over_all(constant(graph, own_count, dtype));
  Tensor mean = over_all(sum(wide, {.axes = axes})) / count;
  Tensor centered = wide - mean;
  Tensor variance = over_all(sum(square(centered), {.axes = axes})) / count;
  Tensor y = centered * (rsqrt(variance + epsilon) * scale) + offset;
  return {{cast(y, x.dtype()), mean, variance}, count};
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

  if (o.sync && s.graph().towers() > 1) {
    auto [all, count] = batch_norm_sync(x, scale, offset, o.epsilon);
    Tensor one = constant(s.graph(), 1, count.dtype());
    update(moving_mean, all.mean, o.momentum);
    update(moving_variance, all.variance * (count / maximum(one, count - one)), o.momentum);
    return all.y;
  }
  BatchNormResult result = batch_norm_train(x, scale, offset, o.epsilon);
  if (x.shape().elements() > 0) {  // no rows have no mean
    double count = x.shape().elements() / x.size(-1);
    update(moving_mean, result.mean, o.momentum);
    update(moving_variance, result.variance * (count / std::max(1.0, count - 1)), o.momentum);
  }
  return result.y;
}

Tensor layer_norm(const Scope& s, Tensor x, LayerNormLayerOptions o) {
  layers::require_at(s, o.epsilon > 0, "layer_norm: epsilon must be positive, got ", o.epsilon);
  layers::require_features(s, "layer_norm", x, 1);
  Graph::PlacementGuard guard(s.graph(), s.placement());
  auto [scale, offset] = layers::affine(s, x, o.scale, o.center);
  return layer_norm(x, scale, offset, o.epsilon);
}

Tensor group_norm(const Scope& s, Tensor x, GroupNormLayerOptions o) {
  layers::require_at(s, o.epsilon > 0, "group_norm: epsilon must be positive, got ", o.epsilon);
  layers::require_features(s, "group_norm", x, 2);
  layers::require_at(s, o.groups >= 1 && x.size(-1) % o.groups == 0, "group_norm: ", o.groups,
                     " groups do not divide ", x.size(-1), " channels");
  Graph::PlacementGuard guard(s.graph(), s.placement());
  auto [scale, offset] = layers::affine(s, x, o.scale, o.center);
  return group_norm(x, scale, offset, o.groups, o.epsilon);
}

}  // namespace belfry
