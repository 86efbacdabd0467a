#include "belfry/framework/layers/losses/losses.h"
#include "belfry/framework/layers/losses/overlap.h"
#include "belfry/framework/ops/elementwise/math.h"

namespace belfry {

Tensor dice_loss(Tensor logits, Tensor targets, OverlapLossOptions o) {
  auto [both, predicted, wanted] =
      layers::overlap("dice_loss", logits, targets, o.smooth, o.channels);
  return layers::one_minus_ratio("dice_loss", both * 2, predicted + wanted, o.smooth, o.weights);
}

Tensor jaccard_loss(Tensor logits, Tensor targets, OverlapLossOptions o) {
  auto [both, predicted, wanted] =
      layers::overlap("jaccard_loss", logits, targets, o.smooth, o.channels);
  return layers::one_minus_ratio("jaccard_loss", both, predicted + wanted - both, o.smooth,
                                 o.weights);
}

Tensor tversky_loss(Tensor logits, Tensor targets, TverskyLossOptions o) {
  require(o.false_positives >= 0 && o.false_negatives >= 0,
          "tversky_loss: the weights of false positives and negatives are ", o.false_positives,
          " and ", o.false_negatives, "; they must be at least 0");
  auto [both, predicted, wanted] =
      layers::overlap("tversky_loss", logits, targets, o.smooth, o.channels);
  Tensor below =
      both + (predicted - both) * o.false_positives + (wanted - both) * o.false_negatives;
  return layers::one_minus_ratio("tversky_loss", both, below, o.smooth, o.weights);
}

}  // namespace belfry
