#include "belfry/framework/base/error.h"
#include "belfry/framework/layers/loss_support.h"
#include "belfry/framework/layers/losses/losses.h"
#include "belfry/framework/ops/math.h"
#include "belfry/framework/ops/movement/shape_ops.h"
#include "belfry/framework/ops/nn.h"

namespace belfry {
namespace {

/// Sums over the elements of each mask, [n, masks]: probabilities p, targets t.
struct Overlap {
  Tensor both, predicted, wanted;  ///< of p t, p, t
};

/// Error naming `loss`: logits and targets do not fit, or `smooth` is below 0.
Overlap overlap(std::string_view loss, Tensor logits, Tensor targets, double smooth,
                MaskChannels channels) {
  bool one = channels == MaskChannels::together;
  layers::require_pair(loss, logits, targets, one ? 1 : 2);
  require(smooth >= 0, loss, ": smooth must be at least 0, got ", smooth);
  std::int64_t rows = logits.size(0), masks = one ? 1 : logits.size(-1);
  std::int64_t pixels = rows * masks == 0 ? 0 : logits.shape().elements() / (rows * masks);
  Shape by_mask{rows, pixels, masks};
  Tensor p = channels == MaskChannels::exclusive ? softmax(logits) : sigmoid(logits);
  Tensor t = reshape(targets, by_mask);
  p = reshape(p, by_mask);
  auto total = [](Tensor x) { return sum(x, {.axes = {1}}); };
  return {total(p * t), total(p), total(t)};
}

/// 1 - (above + smooth) / (below + smooth), the mean over masks [n, masks] -> [n], times weights
/// [n] if there are any.
Tensor one_minus_ratio(std::string_view loss, Tensor above, Tensor below, double smooth,
                       Tensor weights) {
  return layers::weigh(loss, mean(1 - (above + smooth) / (below + smooth), {.axes = {1}}), weights);
}

}  // namespace

Tensor dice_loss(Tensor logits, Tensor targets, OverlapLossOptions o) {
  auto [both, predicted, wanted] = overlap("dice_loss", logits, targets, o.smooth, o.channels);
  return one_minus_ratio("dice_loss", both * 2, predicted + wanted, o.smooth, o.weights);
}

Tensor jaccard_loss(Tensor logits, Tensor targets, OverlapLossOptions o) {
  auto [both, predicted, wanted] = overlap("jaccard_loss", logits, targets, o.smooth, o.channels);
  return one_minus_ratio("jaccard_loss", both, predicted + wanted - both, o.smooth, o.weights);
}

Tensor tversky_loss(Tensor logits, Tensor targets, TverskyLossOptions o) {
  require(o.false_positives >= 0 && o.false_negatives >= 0,
          "tversky_loss: the weights of false positives and negatives are ", o.false_positives,
          " and ", o.false_negatives, "; they must be at least 0");
  auto [both, predicted, wanted] = overlap("tversky_loss", logits, targets, o.smooth, o.channels);
  Tensor below =
      both + (predicted - both) * o.false_positives + (wanted - both) * o.false_negatives;
  return one_minus_ratio("tversky_loss", both, below, o.smooth, o.weights);
}

}  // namespace belfry
