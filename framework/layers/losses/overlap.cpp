#include "belfry/framework/layers/losses/overlap.h"

#include "belfry/framework/base/error.h"
#include "belfry/framework/layers/losses/loss_support.h"
#include "belfry/framework/layers/losses/weighting.h"
#include "belfry/framework/ops/elementwise/math.h"
#include "belfry/framework/ops/movement/shape_ops.h"
#include "belfry/framework/ops/nn.h"
#include "belfry/framework/ops/reduction/reduce.h"

namespace belfry::layers {

Overlap overlap(std::string_view loss, Tensor logits, Tensor targets, double smooth,
                MaskChannels channels) {
  bool one = channels == MaskChannels::together;
  require_pair(loss, logits, targets, one ? 1 : 2);
  require(smooth >= 0, loss, ": smooth must be at least 0, got ", smooth);
  std::int64_t rows = logits.size(0), masks = one ? 1 : logits.size(-1);
  std::int64_t places = rows * masks == 0 ? 0 : logits.shape().elements() / (rows * masks);
  Shape by_mask{rows, places, masks};
  Tensor p = channels == MaskChannels::exclusive ? softmax(logits) : sigmoid(logits);
  Tensor t = reshape(targets, by_mask);
  p = reshape(p, by_mask);
  auto total = [](Tensor x) { return sum(x, {.axes = {1}}); };
  return {total(p * t), total(p), total(t)};
}

Tensor one_minus_ratio(std::string_view loss, Tensor above, Tensor below, double smooth,
                       Tensor weights) {
  return weigh(loss, mean(1 - (above + smooth) / (below + smooth), {.axes = {1}}), weights);
}

}  // namespace belfry::layers
