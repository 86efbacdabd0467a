#include "belfry/framework/layers/metric_support.h"

namespace belfry {

Metric mean_metric(Tensor values, Tensor weights) {
  return layers::weighted_mean("mean_metric", values, weights);
}

}  // namespace belfry
