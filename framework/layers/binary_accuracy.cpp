#include "belfry/framework/layers/metric_support.h"
#include "belfry/framework/ops/math.h"

namespace belfry {

Metric binary_accuracy(Tensor labels, Tensor probabilities, BinaryMetricOptions o) {
  auto b = layers::binary("binary_accuracy", labels, probabilities, o);
  return layers::weighted_mean("binary_accuracy", equal(b.label, b.prediction), o.weights);
}

}  // namespace belfry
