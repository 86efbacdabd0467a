#include "belfry/framework/layers/layer_support.h"
#include "belfry/framework/layers/normalization.h"
#include "belfry/framework/ops/nn.h"

namespace belfry {

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
