#include "belfry/framework/layers/metrics/metric_support.h"
#include "belfry/framework/layers/metrics/metrics.h"
#include "belfry/framework/ops/math.h"
#include "belfry/framework/ops/movement/shape_ops.h"

namespace belfry {
namespace {

/// The state is [distances, lengths].
Metric error_rate(const Sequences& truth, const Sequences& hypothesis,
                  const EditDistanceOptions& options) {
  EditDistance rows = edit_distance(truth, hypothesis, options);
  return {
      .state = stack({sum(cast(rows.distance, DType::f64)), sum(cast(rows.length, DType::f64))}),
      .value = [](std::span<const double> s) {
        return Array::scalar(s[0] == 0 ? 0 : s[0] / s[1]);
      }};
}

}  // namespace

Metric character_error_rate(Sequences truth, Sequences hypothesis) {
  return error_rate(truth, hypothesis, {});
}

Metric word_error_rate(Sequences truth, Sequences hypothesis, WordErrorRateOptions o) {
  return error_rate(truth, hypothesis, {.words = true, .separator = o.separator});
}

Metric precision(Tensor labels, Tensor probabilities, BinaryMetricOptions o) {
  auto b = layers::binary("precision", labels, probabilities, o);
  Tensor true_positive = layers::only(logical_and(b.prediction, b.label), b.weight);
  Tensor false_positive = layers::only(logical_and(b.prediction, logical_not(b.label)), b.weight);
  return layers::fraction(true_positive, false_positive);
}

Metric recall(Tensor labels, Tensor probabilities, BinaryMetricOptions o) {
  auto b = layers::binary("recall", labels, probabilities, o);
  Tensor true_positive = layers::only(logical_and(b.label, b.prediction), b.weight);
  Tensor false_negative = layers::only(logical_and(b.label, logical_not(b.prediction)), b.weight);
  return layers::fraction(true_positive, false_negative);
}

}  // namespace belfry
