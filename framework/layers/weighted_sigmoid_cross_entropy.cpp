#include "belfry/framework/layers/loss_support.h"
#include "belfry/framework/layers/losses.h"
#include "belfry/framework/ops/math.h"

namespace belfry {

Tensor weighted_sigmoid_cross_entropy(Tensor logits, Tensor targets,
                                      WeightedCrossEntropyOptions o) {
  constexpr std::string_view name = "weighted_sigmoid_cross_entropy";
  require(o.positive_weight >= 0, name, ": the positive weight must be at least 0, got ",
          o.positive_weight);
  layers::require_pair(name, logits, targets);
  Tensor elements =
      targets * softplus(-logits) * o.positive_weight + (1 - targets) * softplus(logits);
  return layers::per_example(name, elements, o.weights);
}

}  // namespace belfry
