#pragma once
// Heads: what stands behind a model's last layer. They know what the logits mean.

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "belfry/framework/framework.h"

namespace belfry::models {

/// A value that makes the spec of a model from its logits: predictions, loss and metrics.
///
///   Head head = binary_head({.label = "income"});
///   Tensor logits = dense(s / "logits", x, {.units = head.units});
///   return head(logits, batch, mode, adam());
///
/// The loss is the mean over rows of loss times weight (not divided by the weights) unless the
/// head's `reduction` says otherwise; a sum is one over all towers. Beside it stands the metric
/// "average_loss", which is divided by the weights whatever the reduction is. Only predict mode has
/// predictions, and only evaluation has metrics; all metrics are weighted.
struct Head {
  /// Makes a spec without updates; the logits are f32 or f64.
  using Build = std::function<EstimatorSpec(Tensor logits, const Batch&, Mode)>;

  std::int64_t units = 0;  ///< size of the last axis of the logits, floating [n, ..., units]
  Build build = {};        ///< the spec, without the updates

  /// Error: the logits are not of that size; what build() throws, which names features that are not
  /// there or do not go with the logits.
  EstimatorSpec operator()(Tensor logits, const Batch& batch, Mode mode, Updates train = {}) const;
};

/// Error of `function` unless the head was made by one of the functions below, or the like.
void require_set(std::string_view function, const Head& head);

/// Options of binary_head().
struct BinaryHeadOptions {
  /// Numbers [n] or [n, 1]: whole ones are 0 or 1, floating ones a probability of 1.
  std::string label = "label";
  std::string weight = {};     ///< feature [n] or [n, 1]; empty: all 1
  double label_smoothing = 0;  ///< see sigmoid_cross_entropy(); metrics see the labels as they are
  double threshold = 0.5;      ///< of the probability of 1, for the class and the metrics
  /// More thresholds, each in [0, 1], for metrics of their own: "accuracy/positive_threshold_0.3"
  /// and so on.
  std::vector<double> thresholds = {};
  Reduction reduction = Reduction::mean;  ///< of the losses, see reduce_loss(); not `none`
  BELFRY_FIELDS(label, weight, reduction, label_smoothing, threshold, thresholds)
};
/// Yes or no, one logit. Predictions: "probability" [n] of 1, and "class" i64 [n]. Metrics:
/// "accuracy", "accuracy_baseline" (of always saying what is more frequent), "auc", "auc_pr",
/// "precision", "recall", "label/mean", "prediction/mean", and for each of `thresholds` accuracy,
/// precision and recall. Error in a step: a label outside [0, 1]; in an evaluation: a logit that is
/// NaN.
Head binary_head(BinaryHeadOptions options = {});

/// Options of multi_class_head().
struct MultiClassHeadOptions {
  std::int64_t classes = 10;    ///< at least 2
  std::string label = "label";  ///< i32 or i64, in 0..classes-1, of the logits' leading axes
  /// Feature of the label's shape or its leading axes, or with one more axis, of size 1; empty: all
  /// 1.
  std::string weight = {};
  /// One for each class, times the weight of an example of it: see class_weights(). Of the loss
  /// and "average_loss", not of "accuracy". Empty: all 1.
  std::vector<double> class_weights = {};
  double label_smoothing = 0;             ///< see sparse_softmax_cross_entropy()
  Reduction reduction = Reduction::mean;  ///< of the losses, see reduce_loss(); not `none`
  BELFRY_FIELDS(label, weight, reduction, classes, class_weights, label_smoothing)
};
/// One of several classes. Predictions: "class" i64 [n] and "probabilities" [n, classes]; metric:
/// "accuracy". Error in a step: a label outside its range.
Head multi_class_head(MultiClassHeadOptions options = {});

/// Options of multi_label_head().
struct MultiLabelHeadOptions {
  std::int64_t classes = 10;    ///< at least 1
  std::string label = "label";  ///< [n, classes], each as the label of binary_head()
  std::string weight = {};      ///< feature [n] or [n, 1]; empty: all 1
  double label_smoothing = 0;   ///< see sigmoid_cross_entropy()
  double threshold = 0.5;       ///< of probabilities, in [0, 1], for "classes" and the metrics
  std::vector<double> thresholds = {};    ///< as those of BinaryHeadOptions
  Reduction reduction = Reduction::mean;  ///< of the losses, see reduce_loss(); not `none`
  BELFRY_FIELDS(label, weight, reduction, classes, label_smoothing, threshold, thresholds)
};
/// Several classes that do not exclude each other; the loss of a row is the mean over them.
/// Predictions: "classes" bool [n, classes] and "probabilities"; metrics, over all classes:
/// "accuracy", "auc", "auc_pr", "precision", "recall", and those of `thresholds`. Error as
/// binary_head().
Head multi_label_head(MultiLabelHeadOptions options = {});

/// Options of regression_head().
struct RegressionHeadOptions {
  std::int64_t units = 1;                 ///< numbers to predict
  std::string label = "label";            ///< numbers [n, units], or [n] for one unit
  std::string weight = {};                ///< feature [n] or [n, 1]; empty: all 1
  Reduction reduction = Reduction::mean;  ///< of the losses, see reduce_loss(); not `none`
  BELFRY_FIELDS(label, weight, reduction, units)
};
/// Numbers, by mean_squared_error(). Predictions: "value", [n, units], or [n] for one unit;
/// metrics: "label/mean", "prediction/mean".
Head regression_head(RegressionHeadOptions options = {});

/// Options of poisson_head().
struct PoissonHeadOptions {
  std::string label = "label";            ///< numbers from 0 [n] or [n, 1]
  std::string weight = {};                ///< feature [n] or [n, 1]; empty: all 1
  Reduction reduction = Reduction::mean;  ///< of the losses, see reduce_loss(); not `none`
  BELFRY_FIELDS(label, weight, reduction)
};
/// Counts: the logit is the logarithm of their mean. The loss is poisson_loss(). Predictions:
/// "mean" [n]; metrics: "label/mean", "prediction/mean". Error in a step: a label below 0.
Head poisson_head(PoissonHeadOptions options = {});

/// One of the heads of multi_head().
struct NamedHead {
  std::string name = {};  ///< HEAD in the names of its predictions and metrics; required
  Head head = {};         ///< required
  double weight = 1;      ///< of its loss in the sum, at least 0
  BELFRY_FIELDS(name, head, weight)
};
/// Several heads on one body. They share the logits' last axis, in their order; the loss is the sum
/// of weight times loss. Predictions and metrics are named HEAD/NAME, with the metric
/// HEAD/loss beside them: the head's own loss, without the weight, over an evaluation as
/// EvalResult has "loss". Error: no heads, a name that is empty or there twice, a weight below 0;
/// when the model is built, some losses are sums and others are not.
Head multi_head(std::vector<NamedHead> heads);

}  // namespace belfry::models
