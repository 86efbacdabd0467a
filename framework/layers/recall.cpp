#include "belfry/framework/layers/metric_support.h"
#include "belfry/framework/ops/math.h"

namespace belfry {

Metric recall(Tensor labels, Tensor probabilities, BinaryMetricOptions o) {
  auto b = layers::binary("recall", labels, probabilities, o);
  Tensor true_positive = layers::only(logical_and(b.label, b.prediction), b.weight);
  Tensor false_negative = layers::only(logical_and(b.label, logical_not(b.prediction)), b.weight);
  return layers::share(true_positive, false_negative);
}

}  // namespace belfry
