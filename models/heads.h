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
/// The loss is the mean over rows of loss times weight (not divided by the weights), with the
/// metric "average_loss" beside it, which is divided by them. Only predict mode has predictions,
/// and only evaluation has metrics; all metrics are weighted.
struct Head {
  using Build = std::function<EstimatorSpec(Tensor logits, const Batch&, Mode)>;

  std::int64_t units = 0;  ///< size of the last axis of the logits, floating [n, ..., units]
  Build build = {};        ///< the spec, without the updates

  /// Error: the logits are not of that size; what build() throws, which names features that are not
  /// there or do not go with the logits.
  EstimatorSpec operator()(Tensor logits, const Batch& batch, Mode mode, Updates train = {}) const;
};

/// Error of `function` unless the head was made by one of the functions below, or the like.
void require_set(std::string_view function, const Head& head);

struct BinaryHeadOptions {
  /// Numbers [n] or [n, 1]: whole ones are 0 or 1, floating ones a probability of 1.
  std::string label = "label";
  std::string weight = {};     ///< feature [n] or [n, 1]; empty: all 1
  double label_smoothing = 0;  ///< see sigmoid_cross_entropy(); metrics see the labels as they are
  double threshold = 0.5;      ///< of the probability of 1, for the class and the metrics
};
/// Yes or no, one logit. Predictions: "probability" [n] of 1, and "class" i64 [n]. Metrics:
/// "accuracy", "accuracy_baseline" (of always saying what is more frequent), "auc", "precision",
/// "recall", "label/mean", "prediction/mean". Error in a step: a label outside [0, 1].
Head binary_head(BinaryHeadOptions options = {});

struct MultiClassHeadOptions {
  std::int64_t classes = 10;    ///< at least 2
  std::string label = "label";  ///< i32 or i64, in 0..classes-1, of the logits' leading axes
  /// Feature of the label's shape or its leading axes, or with one more axis, of size 1; empty: all
  /// 1.
  std::string weight = {};
  double label_smoothing = 0;  ///< see sparse_softmax_cross_entropy()
};
/// One of several classes. Predictions: "class" i64 [n] and "probabilities" [n, classes]; metric:
/// "accuracy". Error in a step: a label outside its range.
Head multi_class_head(MultiClassHeadOptions options = {});

struct MultiLabelHeadOptions {
  std::int64_t classes = 10;    ///< at least 1
  std::string label = "label";  ///< [n, classes], each as the label of binary_head()
  std::string weight = {};      ///< feature [n] or [n, 1]; empty: all 1
  double label_smoothing = 0;   ///< see sigmoid_cross_entropy()
  double threshold = 0.5;
};
/// Several classes that do not exclude each other; the loss of a row is the mean over them.
/// Predictions: "classes" bool [n, classes] and "probabilities"; metrics, over all classes:
/// "accuracy", "auc", "precision", "recall". Error in a step: a label outside [0, 1].
Head multi_label_head(MultiLabelHeadOptions options = {});

struct RegressionHeadOptions {
  std::int64_t units = 1;       ///< numbers to predict
  std::string label = "label";  ///< numbers [n, units], or [n] for one unit
  std::string weight = {};      ///< feature [n] or [n, 1]; empty: all 1
};
/// Numbers, by mean_squared_error(). Predictions: "value", [n, units], or [n] for one unit;
/// metrics: "label/mean", "prediction/mean".
Head regression_head(RegressionHeadOptions options = {});

struct PoissonHeadOptions {
  std::string label = "label";  ///< numbers from 0 [n] or [n, 1]
  std::string weight = {};      ///< feature [n] or [n, 1]; empty: all 1
};
/// Counts: the logit is the logarithm of their mean. The loss is poisson_loss(). Predictions:
/// "mean" [n]; metrics: "label/mean", "prediction/mean". Error in a step: a label below 0.
Head poisson_head(PoissonHeadOptions options = {});

struct NamedHead {
  std::string name = {};
  Head head = {};
  double weight = 1;  ///< of its loss in the sum, at least 0
};
/// Several heads on one body. They share the logits' last axis, in their order; the loss is the sum
/// of weight times loss. Predictions and metrics are named <head>/<name>, with the metric
/// <head>/loss beside them. Error: no heads, a name that is empty or there twice, a weight below 0.
Head multi_head(std::vector<NamedHead> heads);

}  // namespace belfry::models
