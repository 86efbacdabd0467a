#include "belfry/framework/layers/loss_support.h"
#include "belfry/framework/layers/losses.h"
#include "belfry/framework/layers/weighting.h"
#include "belfry/framework/ops/math.h"
#include "belfry/framework/ops/nn.h"
#include "belfry/framework/ops/reduce.h"

namespace belfry {

Tensor softmax_cross_entropy(Tensor logits, Tensor targets, CrossEntropyLossOptions o) {
  constexpr std::string_view name = "softmax_cross_entropy";
  layers::require_smoothing(name, o.label_smoothing);
  layers::require_pair(name, logits, targets);
  targets = layers::smooth(targets, o.label_smoothing, logits.size(-1));
  Tensor losses = -sum(targets * log_softmax(logits), {.axes = {-1}});
  return layers::weigh(name, losses, o.weights);
}

}  // namespace belfry
