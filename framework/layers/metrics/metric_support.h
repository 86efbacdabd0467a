#pragma once
// The common parts of the metrics. Used by framework/layers alone.

#include <string_view>
#include <vector>

#include "belfry/framework/layers/metrics/metrics.h"

namespace belfry::layers {

/// Error naming `metric` unless a and b, so called, have the same shape.
void require_same_shape(std::string_view metric, std::string_view a_name, const Tensor& a,
                        std::string_view b_name, const Tensor& b);
/// Error naming `metric` unless labels are integers [...] and logits floating [..., classes].
void require_classes(std::string_view metric, const Tensor& labels, const Tensor& logits);

/// a / b, and 0 for 0 / 0.
double ratio(double a, double b);

/// The weighted mean of `values` (bool, or numbers): the state is [sum of w * v, sum of w].
Metric weighted_mean(std::string_view metric, Tensor values, Tensor weights);
/// sum of a / (sum of a + sum of b), for tensors f64: the state is the two sums.
Metric fraction(Tensor a, Tensor b);

/// Labels and predictions of a binary metric as false and true, and one weight f64 an element.
struct Binary {
  Tensor label, prediction, weight;
};
Binary binary(std::string_view metric, Tensor labels, Tensor probabilities,
              const BinaryMetricOptions& options);

/// w where the condition holds, else 0.
Tensor only(Tensor condition, Tensor w);

/// `count` thresholds f64 [1, count], evenly spaced in [0, 1]; the first lets all through and the
/// last nothing. Error naming `metric`: fewer than 2.
Array thresholds_of_areas(std::string_view metric, int count);

/// f64 [2 t + 2]: for thresholds f64 [1, t] the weight of true labels whose probability is above
/// each, that of false ones, then the weight of all that are true and of all that are false. Error
/// when the step runs: a probability outside [0, 1].
Tensor threshold_counts(std::string_view metric, Tensor labels, Tensor probabilities,
                        const Array& thresholds, Tensor weights);

/// The state of confusion_matrix(), for the metrics made from it.
Tensor confusion_state(std::string_view metric, Tensor labels, Tensor predictions,
                       const ConfusionOptions& options);

}  // namespace belfry::layers
