#include "belfry/framework/layers/layer_support.h"
#include "belfry/framework/layers/normalization.h"
#include "belfry/framework/ops/nn.h"

namespace belfry {

Tensor layer_norm(const Scope& s, Tensor x, LayerNormLayerOptions o) {
  layers::require_at(s, o.epsilon > 0, "layer_norm: epsilon must be positive, got ", o.epsilon);
  layers::require_features(s, "layer_norm", x, 1);
  Graph::PlacementGuard guard(s.graph(), s.placement());
  auto [scale, offset] = layers::affine(s, x, o.scale, o.center);
  return layer_norm(x, scale, offset, o.epsilon);
}

}  // namespace belfry
