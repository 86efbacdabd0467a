#include "belfry/framework/layers/metric_support.h"
#include "belfry/framework/ops/math.h"

namespace belfry {

Metric precision(Tensor labels, Tensor probabilities, BinaryMetricOptions o) {
  auto b = layers::binary("precision", labels, probabilities, o);
  Tensor true_positive = layers::only(logical_and(b.prediction, b.label), b.weight);
  Tensor false_positive = layers::only(logical_and(b.prediction, logical_not(b.label)), b.weight);
  return layers::share(true_positive, false_positive);
}

}  // namespace belfry
