#include "belfry/framework/graph/leaves.h"
#include "belfry/framework/layers/metric_support.h"
#include "belfry/framework/layers/weighting.h"
#include "belfry/framework/ops/math.h"
#include "belfry/framework/ops/nn.h"
#include "belfry/framework/ops/reduce.h"
#include "belfry/framework/ops/shape_ops.h"

namespace belfry::layers {

Tensor threshold_counts(std::string_view metric, Tensor labels, Tensor probabilities,
                        const Array& thresholds, Tensor weights) {
  require(is_floating(probabilities.dtype()), metric, ": probabilities must be floating, got ",
          probabilities.type());
  require_same_shape(metric, "labels", labels, "probabilities", probabilities);
  Shape column{probabilities.shape().elements(), 1};
  Tensor label = reshape(cast(labels, DType::boolean), column);
  Tensor weight = reshape(full_weights(metric, weights, probabilities), column);
  Tensor groups = concat({only(label, weight), only(logical_not(label), weight)}, 1);  // [n, 2]
  Tensor above = greater(cast(reshape(probabilities, column), DType::f64),
                         constant(labels.graph(), thresholds));
  Tensor counts = matmul(groups, cast(above, DType::f64), {.transpose_a = true});  // [2, t]
  return concat({reshape(counts, Shape{2 * thresholds.elements()}), sum(groups, {.axes = {0}})}, 0);
}

}  // namespace belfry::layers
