#include "belfry/framework/graph/leaves.h"
#include "belfry/framework/layers/loss_support.h"
#include "belfry/framework/layers/metrics/metric_support.h"
#include "belfry/framework/ops/check_range.h"
#include "belfry/framework/ops/math.h"
#include "belfry/framework/ops/movement/shape_ops.h"
#include "belfry/framework/ops/nn.h"

namespace belfry::layers {

Array thresholds_of_areas(std::string_view metric, int count) {
  require(count >= 2, metric, ": thresholds must be at least 2, got ", count);
  constexpr double margin = 1e-7;
  Array out(Shape{1, count}, DType::f64);
  auto values = out.span<double>();
  for (int i = 0; i < count; ++i) values[i] = i / (count - 1.0);
  values.front() -= margin;
  values.back() += margin;
  return out;
}

Tensor threshold_counts(std::string_view metric, Tensor labels, Tensor probabilities,
                        const Array& thresholds, Tensor weights) {
  require(is_floating(probabilities.dtype()), metric, ": probabilities must be floating, got ",
          probabilities.type());
  require_same_shape(metric, "labels", labels, "probabilities", probabilities);
  probabilities = check_range(probabilities, 0, 1,
                              {.what = concat(metric, ": the probability"),
                               .remedy = "probabilities lie in [0, 1], as sigmoid(logits) does"});
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
