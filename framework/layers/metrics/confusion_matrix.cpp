#include "belfry/framework/layers/loss_support.h"
#include "belfry/framework/layers/metrics/metric_support.h"
#include "belfry/framework/ops/math.h"
#include "belfry/framework/ops/movement/shape_ops.h"
#include "belfry/framework/ops/nn.h"

namespace belfry {
namespace {

Tensor rows(Tensor classes, std::int64_t depth, DType dtype) {
  return one_hot(reshape(cast(classes, DType::i64), Shape{classes.shape().elements()}),
                 {.depth = depth, .dtype = dtype});
}

}  // namespace

Tensor layers::confusion_state(std::string_view metric, Tensor labels, Tensor predictions,
                               const ConfusionOptions& o) {
  require(o.classes >= 1, metric, ": classes must be at least 1, got ", o.classes);
  require(!is_floating(labels.dtype()) && !is_floating(predictions.dtype()), metric, ": labels ",
          labels.type(), " and predictions ", predictions.type(),
          " must be integers; predictions are classes, such as argmax(logits, 1)");
  require_same_shape(metric, "labels", labels, "predictions", predictions);
  // Counting in f32 takes half the memory and is exact up to 2^24.
  std::int64_t count = labels.shape().elements();
  DType dtype = o.weights.defined() || count > (1 << 24) ? DType::f64 : DType::f32;
  Tensor label_rows = rows(labels, o.classes, dtype);
  if (o.weights.defined())
    label_rows = label_rows * reshape(full_weights(metric, o.weights, labels), Shape{count, 1});
  Tensor counts = matmul(label_rows, rows(predictions, o.classes, dtype), {.transpose_a = true});
  return cast(reshape(counts, Shape{o.classes * o.classes}), DType::f64);
}

Metric confusion_matrix(Tensor labels, Tensor predictions, ConfusionOptions o) {
  Tensor state = layers::confusion_state("confusion_matrix", labels, predictions, o);
  return {.state = state, .value = [k = o.classes](std::span<const double> s) {
            return Array::of(s, Shape{k, k});
          }};
}

}  // namespace belfry
