#include "belfry/framework/layers/loss_support.h"
#include "belfry/framework/layers/losses.h"
#include "belfry/framework/ops/math.h"

namespace belfry {

Tensor poisson_loss(Tensor log_rates, Tensor counts, RegressionLossOptions o) {
  layers::require_pair("poisson_loss", log_rates, counts);
  return layers::per_example("poisson_loss", exp(log_rates) - log_rates * counts, o.weights);
}

}  // namespace belfry
