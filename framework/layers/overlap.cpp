#include "belfry/framework/layers/overlap.h"

#include "belfry/framework/base/error.h"
#include "belfry/framework/layers/loss_support.h"
#include "belfry/framework/layers/weighting.h"
#include "belfry/framework/ops/math.h"
#include "belfry/framework/ops/reduce.h"
#include "belfry/framework/ops/shape_ops.h"

namespace belfry::layers {

Overlap overlap(std::string_view loss, Tensor logits, Tensor targets, double smooth) {
  require_pair(loss, logits, targets);
  require(smooth >= 0, loss, ": smooth must be at least 0, got ", smooth);
  std::int64_t rows = logits.size(0);
  std::int64_t width = rows == 0 ? 0 : logits.shape().elements() / rows;
  Tensor p = sigmoid(reshape(logits, {rows, width})), t = reshape(targets, {rows, width});
  auto total = [](Tensor x) { return sum(x, {.axes = {1}}); };
  return {total(p * t), total(p), total(t)};
}

Tensor one_minus_ratio(std::string_view loss, Tensor above, Tensor below, double smooth,
                       Tensor weights) {
  return weigh(loss, 1 - (above + smooth) / (below + smooth), weights);
}

}  // namespace belfry::layers
