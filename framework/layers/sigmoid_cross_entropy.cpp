#include "belfry/framework/layers/loss_support.h"
#include "belfry/framework/layers/losses.h"
#include "belfry/framework/ops/math.h"

namespace belfry {

Tensor sigmoid_cross_entropy(Tensor logits, Tensor targets, CrossEntropyLossOptions o) {
  constexpr std::string_view name = "sigmoid_cross_entropy";
  layers::require_smoothing(name, o.label_smoothing);
  layers::require_pair(name, logits, targets);
  Tensor t = layers::smooth(targets, o.label_smoothing, 2);
  Tensor elements = t * softplus(-logits) + (1 - t) * softplus(logits);
  return layers::per_example(name, elements, o.weights);
}

}  // namespace belfry
