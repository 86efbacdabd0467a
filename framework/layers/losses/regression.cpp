#include "belfry/framework/layers/loss_support.h"
#include "belfry/framework/layers/losses/losses.h"
#include "belfry/framework/ops/math.h"

namespace belfry {

Tensor mean_squared_error(Tensor predictions, Tensor targets, RegressionLossOptions o) {
  layers::require_pair("mean_squared_error", predictions, targets);
  return layers::per_example("mean_squared_error", square(predictions - targets), o.weights);
}

Tensor mean_absolute_error(Tensor predictions, Tensor targets, RegressionLossOptions o) {
  layers::require_pair("mean_absolute_error", predictions, targets);
  return layers::per_example("mean_absolute_error", abs(predictions - targets), o.weights);
}

Tensor huber(Tensor predictions, Tensor targets, HuberOptions o) {
  require(o.delta > 0, "huber: delta must be positive, got ", o.delta);
  layers::require_pair("huber", predictions, targets);
  Tensor error = abs(predictions - targets);
  Tensor quadratic = clip(error, 0, o.delta);
  Tensor elements = square(quadratic) * 0.5 + (error - quadratic) * o.delta;
  return layers::per_example("huber", elements, o.weights);
}

Tensor hinge(Tensor logits, Tensor targets, RegressionLossOptions o) {
  layers::require_pair("hinge", logits, targets);
  return layers::per_example("hinge", relu(1 - (2 * targets - 1) * logits), o.weights);
}

Tensor poisson_loss(Tensor log_rates, Tensor counts, RegressionLossOptions o) {
  layers::require_pair("poisson_loss", log_rates, counts);
  return layers::per_example("poisson_loss", exp(log_rates) - log_rates * counts, o.weights);
}

}  // namespace belfry
