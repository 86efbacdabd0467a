#include "belfry/framework/graph/leaves.h"
#include "belfry/framework/layers/metrics/metric_support.h"
#include "belfry/framework/ops/math.h"
#include "belfry/framework/ops/movement/shape_ops.h"

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

Metric binary_accuracy(Tensor labels, Tensor probabilities, BinaryMetricOptions o) {
  auto b = layers::binary("binary_accuracy", labels, probabilities, o);
  return layers::weighted_mean("binary_accuracy", equal(b.label, b.prediction), o.weights);
}

Metric sparse_categorical_accuracy(Tensor labels, Tensor logits, Tensor weights) {
  constexpr std::string_view name = "sparse_categorical_accuracy";
  layers::require_classes(name, labels, logits);
  Tensor right = equal(cast(labels, DType::i64), argmax(logits, -1));
  return layers::weighted_mean(name, right, weights);
}

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
  Tensor among = less(ahead, constant(graph, o.k, DType::i64));
  return layers::weighted_mean("top_k_accuracy", cast(among, DType::f64) * known, o.weights);
}

}  // namespace belfry
