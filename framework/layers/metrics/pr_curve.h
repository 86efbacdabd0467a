#pragma once
// Curves of precision over recall.

#include "belfry/framework/layers/metrics/metrics.h"

namespace belfry {

struct PrCurveOptions {
  int thresholds = 201;  ///< at least 2; more are finer. A step takes memory for each per element
  Tensor weights = {};   ///< none: all 1
};
/// The counts of right and wrong predictions of a classifier of two classes at each of n
/// thresholds, 0 to 1 in equal steps: a probability that is not below the threshold is a positive
/// prediction. Labels are false or true (numbers count as true unless 0). Error when the step runs:
/// a probability outside [0, 1].
///
/// The value is [6, n]: true positives, false positives, true negatives, false negatives,
/// precision, recall. The quotients are true positives / max(1e-7, their sum with false positives,
/// or negatives), as in TensorBoard, where hooks::write_evaluation() shows the curve.
Metric pr_curve(Tensor labels, Tensor probabilities, PrCurveOptions options = {});

}  // namespace belfry
