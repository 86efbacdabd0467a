#include <cmath>

#include "belfry/framework/graph/leaves.h"
#include "belfry/framework/layers/loss_support.h"
#include "belfry/framework/layers/losses/losses.h"
#include "belfry/framework/ops/collective.h"
#include "belfry/framework/ops/math.h"
#include "belfry/framework/ops/movement/shape_ops.h"

namespace belfry {
namespace {

Tensor divide_or_zero(Tensor a, Tensor b) {
  Tensor zero = constant(a.graph(), 0, a.dtype()), one = constant(a.graph(), 1, a.dtype());
  // The divisor is never 0, so that the branch not taken has no NaN for the gradient to meet.
  Tensor none = equal(b, zero);
  return where(none, zero, a / where(none, one, b));
}

// Over towers, losses are averaged by rows; here the weights of all towers together count, so a
// tower's quotient is such that its average is that of one tower with all rows.
Tensor weighted_quotient(Tensor total, Tensor weights) {
  Graph& graph = total.graph();
  if (graph.towers() == 1) return divide_or_zero(total, weights);
  Tensor has_rows = tower_has_rows(graph);
  Tensor zero = constant(graph, 0, total.dtype());
  Tensor all = tower_sum(where(has_rows, weights, zero));
  Tensor weight = cast(tower_weight(graph), total.dtype());
  return divide_or_zero(where(has_rows, total, zero), all * weight);
}

}  // namespace

Tensor class_weights(Tensor labels, const std::vector<double>& weights) {
  require(!weights.empty(), "class_weights: there are no weights");
  Array values({std::ssize(weights)}, DType::f32);
  for (std::size_t i = 0; i < weights.size(); ++i) {
    require(std::isfinite(weights[i]) && weights[i] >= 0, "class_weights: the weight of class ", i,
            " is ", weights[i], "; it must be finite and at least 0");
    values.span<float>()[i] = static_cast<float>(weights[i]);
  }
  return gather(constant(labels.graph(), values), labels);
}

Tensor reduce_loss(Tensor losses, Reduction reduction, Tensor weights) {
  Tensor weighted = layers::weigh("reduce_loss", losses, weights);
  bool by_weights =
      reduction == Reduction::weighted_mean || reduction == Reduction::mean_by_nonzero_weights;
  if (reduction == Reduction::none) return weighted;
  if (reduction == Reduction::sum) return sum(weighted);
  if (!by_weights) return mean(weighted);
  if (!weights.defined())  // no losses have a sum, but no mean
    return losses.shape().elements() == 0 ? sum(weighted) : mean(weighted);

  Tensor each = broadcast_to(
      layers::fit_weights("reduce_loss", weights, losses.shape(), losses.dtype()), losses.shape());
  if (reduction == Reduction::mean_by_nonzero_weights)
    each = cast(cast(each, DType::boolean), losses.dtype());
  return weighted_quotient(sum(weighted), sum(each));
}

}  // namespace belfry
