#include "belfry/framework/layers/metric_support.h"
#include "belfry/framework/ops/math.h"

namespace belfry {

Metric accuracy(Tensor labels, Tensor predictions, Tensor weights) {
  layers::require_same_shape("accuracy", "labels", labels, "predictions", predictions);
  if (!is_floating(labels.dtype()) && !is_floating(predictions.dtype())) {
    labels = cast(labels, DType::i64);
    predictions = cast(predictions, DType::i64);
  }
  require(labels.dtype() == predictions.dtype(), "accuracy: labels ", labels.type(),
          " and predictions ", predictions.type(),
          " cannot be compared; predictions are classes, such as argmax(logits, 1)");
  return layers::weighted_mean("accuracy", equal(labels, predictions), weights);
}

}  // namespace belfry
