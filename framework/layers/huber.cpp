#include "belfry/framework/layers/loss_support.h"
#include "belfry/framework/layers/losses.h"
#include "belfry/framework/ops/math.h"

namespace belfry {

Tensor huber(Tensor predictions, Tensor targets, HuberOptions o) {
  require(o.delta > 0, "huber: delta must be positive, got ", o.delta);
  layers::require_pair("huber", predictions, targets);
  Tensor error = abs(predictions - targets);
  Tensor quadratic = clip(error, 0, o.delta);
  Tensor elements = square(quadratic) * 0.5 + (error - quadratic) * o.delta;
  return layers::per_example("huber", elements, o.weights);
}

}  // namespace belfry
