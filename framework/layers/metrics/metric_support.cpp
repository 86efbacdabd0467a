#include "belfry/framework/layers/metrics/metric_support.h"

#include "belfry/framework/graph/leaves.h"
#include "belfry/framework/layers/loss_support.h"
#include "belfry/framework/ops/math.h"
#include "belfry/framework/ops/movement/shape_ops.h"

namespace belfry::layers {

void require_same_shape(std::string_view metric, std::string_view a_name, const Tensor& a,
                        std::string_view b_name, const Tensor& b) {
  bool logits = b.rank() == a.rank() + 1 && !is_floating(a.dtype()) && b.size(-1) > 1;
  require(a.shape() == b.shape(), metric, ": ", a_name, " ", a.type(), " and ", b_name, " ",
          b.type(), " differ in shape; ",
          logits ? "of logits, take the classes: argmax(logits, -1)" : "reshape one of them");
}

void require_classes(std::string_view metric, const Tensor& labels, const Tensor& logits) {
  require(!is_floating(labels.dtype()), metric, ": labels must be integers, got ", labels.type());
  require(is_floating(logits.dtype()) && logits.rank() >= 1 && logits.size(-1) >= 1, metric,
          ": logits must be floating [..., classes] with at least one class, got ", logits.type());
  Shape label_shape(logits.shape().sizes().first(logits.rank() - 1));
  require(labels.shape() == label_shape, metric, ": labels must be ", label_shape,
          ", one for each row of logits ", logits.type(), ", got ", labels.type(),
          reshape_hint(labels, label_shape));
}

double ratio(double a, double b) { return b == 0 ? 0 : a / b; }

Metric weighted_mean(std::string_view metric, Tensor values, Tensor weights) {
  Tensor w = full_weights(metric, weights, values);
  Tensor zero = constant(w.graph(), 0, DType::f64);
  // A weight of 0 counts nothing, not even NaN: a batch without rows has such means.
  Tensor total = sum(where(equal(w, zero), zero, cast(values, DType::f64) * w));
  return {.state = stack({total, sum(w)}),
          .value = [](std::span<const double> s) { return Array::scalar(ratio(s[0], s[1])); }};
}

Metric fraction(Tensor a, Tensor b) {
  return {.state = stack({sum(a), sum(b)}), .value = [](std::span<const double> s) {
            return Array::scalar(ratio(s[0], s[0] + s[1]));
          }};
}

Binary binary(std::string_view metric, Tensor labels, Tensor probabilities,
              const BinaryMetricOptions& options) {
  require(is_floating(probabilities.dtype()), metric, ": probabilities must be floating, got ",
          probabilities.type());
  require_same_shape(metric, "labels", labels, "probabilities", probabilities);
  Tensor threshold = constant(labels.graph(), options.threshold, probabilities.dtype());
  return {.label = cast(labels, DType::boolean),
          .prediction = greater(probabilities, threshold),
          .weight = full_weights(metric, options.weights, probabilities)};
}

Tensor only(Tensor condition, Tensor w) {
  return where(condition, w, constant(w.graph(), 0, w.dtype()));
}

}  // namespace belfry::layers
