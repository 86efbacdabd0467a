#pragma once
// Streaming metrics: numbers about a whole data set, gathered batch by batch.
//
// A batch contributes a state; states of batches, of towers and of machines are added up, and the
// value is computed from the sum. So a metric does not depend on how the data were cut into
// batches, and reading its value changes nothing.
//
// Labels and predictions are of one shape, [n] or more axes: every element counts. Weights (any
// dtype) have that shape or its leading axes; without weights every element weighs 1. A quotient 0
// / 0 counts as 0.

#include <cstdint>
#include <functional>
#include <span>

#include "belfry/framework/graph/graph.h"
#include "belfry/framework/ops/sequence/sequences.h"

namespace belfry {

/// A metric in a step: the state of this batch, and how a sum of states becomes the value.
struct Metric {
  Tensor state;  ///< f64 [k]: what this batch contributes; merged by addition
  /// The metric of the merged state: f64, a scalar unless said otherwise.
  std::function<Array(std::span<const double>)> value;
};

/// Mean of the values.
Metric mean_metric(Tensor values, Tensor weights = {});
/// Mean of (prediction - target)^2 over all elements.
Metric mean_squared_error_metric(Tensor targets, Tensor predictions, Tensor weights = {});
/// Mean of |prediction - target| over all elements.
Metric mean_absolute_error_metric(Tensor targets, Tensor predictions, Tensor weights = {});

/// Share of predictions that equal their label. Integers of any type may be compared with each
/// other; other types must agree.
Metric accuracy(Tensor labels, Tensor predictions, Tensor weights = {});
/// Share of logits (or probabilities) [..., k] whose largest is at the label [...], the first of
/// equals. A label outside 0..k-1 is never right.
Metric sparse_categorical_accuracy(Tensor labels, Tensor logits, Tensor weights = {});

/// Options of top_k_accuracy().
struct TopKOptions {
  std::int64_t k = 5;   ///< 1..classes
  Tensor weights = {};  ///< none: all 1
};
/// Share of labels [...] with fewer than k larger logits in their row of [..., classes]: ties count
/// for the label, NaN against it. A label outside 0..classes-1 is never right.
Metric top_k_accuracy(Tensor labels, Tensor logits, TopKOptions options = {});

/// The options of the metrics below, which compare labels (false or true; numbers count as true
/// unless 0) with probabilities.
struct BinaryMetricOptions {
  double threshold = 0.5;  ///< a probability above it is a positive prediction
  Tensor weights = {};     ///< none: all 1
};
/// Share of predictions that agree with their label.
Metric binary_accuracy(Tensor labels, Tensor probabilities, BinaryMetricOptions options = {});
/// Share of positive predictions whose label is true.
Metric precision(Tensor labels, Tensor probabilities, BinaryMetricOptions options = {});
/// Share of true labels whose prediction is positive.
Metric recall(Tensor labels, Tensor probabilities, BinaryMetricOptions options = {});
/// Overlap of masks, over all elements of the data set: 2 TP / (2 TP + FP + FN); 0 where no label
/// and no prediction is positive.
Metric dice(Tensor labels, Tensor probabilities, BinaryMetricOptions options = {});

/// Options of auc().
struct AucOptions {
  int thresholds = 200;  ///< at least 2; more are finer. Memory: elements times thresholds
  Tensor weights = {};   ///< none: all 1
};
/// Area under the receiver operating characteristic, recall over false positive rate, by trapezoids
/// through evenly spaced thresholds from 0 to 1 (as tf.metrics.auc). 1 when no label is true
/// (recall counts as 1), 0 when all are. Error when the step runs: a probability outside [0, 1], as
/// logits have.
Metric auc(Tensor labels, Tensor probabilities, AucOptions options = {});

/// How the area under a curve of precision over recall is added up between two thresholds.
enum class Summation : std::uint8_t {
  /// True and false positives fall linearly (Davis and Goadrich, "The relationship between
  /// precision-recall and ROC curves", ICML 2006, section 4, integrated exactly).
  careful_interpolation,
  trapezoidal,  ///< precision itself falls linearly, which overestimates the area
  minoring,     ///< the lower of the two precisions
  majoring      ///< the higher one
};
/// Options of auc_pr().
struct AucPrOptions {
  Summation summation = Summation::careful_interpolation;  ///< rule for the area between thresholds
  int thresholds = 200;                                    ///< as those of AucOptions
  Tensor weights = {};                                     ///< none: all 1
};
/// Area under precision over recall, through the thresholds of auc() (as tf.metrics.auc with the
/// curve "PR"). The precision of no positive prediction counts as 1. 0 when no label is true. Error
/// as auc().
Metric auc_pr(Tensor labels, Tensor probabilities, AucPrOptions options = {});

/// Options of confusion_matrix() and mean_iou().
struct ConfusionOptions {
  std::int64_t classes;  ///< required
  Tensor weights = {};   ///< none: all 1
};
/// How often label i met prediction j: value [classes, classes], row i, column j. Labels and
/// predictions are integers; where either lies outside 0..classes-1 (a label 255 for "ignore",
/// say), the element is left out.
Metric confusion_matrix(Tensor labels, Tensor predictions, ConfusionOptions options);
/// Mean over classes of intersection / union, (i, i) / (row i + column i - (i, i)) of the confusion
/// matrix, of the classes that occur in labels or predictions; 0 when none does.
Metric mean_iou(Tensor labels, Tensor predictions, ConfusionOptions options);

// ---- sequences

/// edit_distance() over all rows / labels of the truth, over all rows: 0 when all is right, and
/// above 1 where more was recognised than there is. Without any labels in the truth it is 0, or
/// infinity if some were recognised.
Metric character_error_rate(Sequences truth, Sequences hypothesis);

/// Options of word_error_rate().
struct WordErrorRateOptions {
  /// Label between words. The default never occurs: each row is one word, and the rate is the share
  /// of rows that are not right in every label.
  std::int64_t separator = -1;
};
/// The same for words, runs of labels between separators.
Metric word_error_rate(Sequences truth, Sequences hypothesis, WordErrorRateOptions options = {});

// ---- curves

/// Options of pr_curve().
struct PrCurveOptions {
  int thresholds = 201;  ///< at least 2; more are finer. Memory: elements times thresholds
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
