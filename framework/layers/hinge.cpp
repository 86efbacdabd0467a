#include "belfry/framework/layers/loss_support.h"
#include "belfry/framework/layers/losses.h"
#include "belfry/framework/ops/math.h"

namespace belfry {

Tensor hinge(Tensor logits, Tensor targets, RegressionLossOptions o) {
  layers::require_pair("hinge", logits, targets);
  return layers::per_example("hinge", relu(1 - (2 * targets - 1) * logits), o.weights);
}

}  // namespace belfry
