#include "belfry/framework/layers/loss_support.h"
#include "belfry/framework/layers/losses.h"
#include "belfry/framework/ops/math.h"

namespace belfry {

Tensor mean_squared_error(Tensor predictions, Tensor targets, RegressionLossOptions o) {
  layers::require_pair("mean_squared_error", predictions, targets);
  return layers::per_example("mean_squared_error", square(predictions - targets), o.weights);
}

}  // namespace belfry
