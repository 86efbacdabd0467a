#include "belfry/framework/graph/leaves.h"
#include "belfry/framework/layers/metric_support.h"
#include "belfry/framework/ops/math.h"
#include "belfry/framework/ops/reduce.h"
#include "belfry/framework/ops/shape_ops.h"

namespace belfry {

Metric top_k_accuracy(Tensor labels, Tensor logits, TopKOptions o) {
  layers::require_classes("top_k_accuracy", labels, logits);
  std::int64_t classes = logits.size(-1);
  require(o.k >= 1 && o.k <= classes, "top_k_accuracy: k must be in 1..", classes, ", got ", o.k);
  Graph& graph = logits.graph();
  Tensor hit = one_hot(cast(labels, DType::i64), {.depth = classes, .dtype = DType::f64});
  Tensor known = sum(hit, {.axes = {-1}});  // 0 for a label that is no class
  Tensor zero = constant(graph, 0, logits.dtype());
  Tensor own =
      sum(where(cast(hit, DType::boolean), logits, zero), {.axes = {-1}, .keep_dims = true});
  // Whatever is not at most the label's own logit is ahead of it, so that NaN wins nothing.
  Tensor ahead = sum(cast(logical_not(less_equal(logits, own)), DType::i64), {.axes = {-1}});
  Tensor among = less(ahead, constant(graph, static_cast<double>(o.k), DType::i64));
  return layers::weighted_mean("top_k_accuracy", cast(among, DType::f64) * known, o.weights);
}

}  // namespace belfry
