#include "belfry/framework/layers/metric_support.h"
#include "belfry/framework/ops/math.h"

namespace belfry {

Metric dice(Tensor labels, Tensor probabilities, BinaryMetricOptions o) {
  auto b = layers::binary("dice", labels, probabilities, o);
  Tensor right = layers::only(logical_and(b.prediction, b.label), b.weight) * 2;
  Tensor wrong = layers::only(not_equal(b.prediction, b.label), b.weight);
  return layers::share(right, wrong);
}

}  // namespace belfry
