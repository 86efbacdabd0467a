#include "belfry/framework/layers/metrics/metric_support.h"
#include "belfry/framework/ops/elementwise/math.h"

namespace belfry {

Metric mean_metric(Tensor values, Tensor weights) {
  return layers::weighted_mean("mean_metric", values, weights);
}

Metric mean_absolute_error_metric(Tensor targets, Tensor predictions, Tensor weights) {
  constexpr std::string_view name = "mean_absolute_error_metric";
  layers::require_same_shape(name, "targets", targets, "predictions", predictions);
  Tensor error = cast(predictions, DType::f64) - cast(targets, DType::f64);
  return layers::weighted_mean(name, abs(error), weights);
}

Metric mean_squared_error_metric(Tensor targets, Tensor predictions, Tensor weights) {
  constexpr std::string_view name = "mean_squared_error_metric";
  layers::require_same_shape(name, "targets", targets, "predictions", predictions);
  Tensor error = cast(predictions, DType::f64) - cast(targets, DType::f64);
  return layers::weighted_mean(name, square(error), weights);
}

}  // namespace belfry
