#pragma once
// Losses. Each gives one loss an example, so that mean(loss) is what a step minimises and weights
// act on examples; reduce_loss() has the other reductions by name.
//
// Weights (any dtype, cast to the loss's) have the shape of the losses, or of its leading axes:
// with losses [n, h, w], weights [n] weigh examples and weights [n, h, w] pixels. Predictions and
// targets must agree in shape exactly and in dtype; nothing is broadcast.

#include <cstdint>
#include <string>
#include <vector>

#include "belfry/framework/base/fields.h"
#include "belfry/framework/graph/graph.h"

namespace belfry {

/// How losses l with weights w (all 1 when there are none) become one number.
enum class Reduction : std::uint8_t {
  none,                    ///< w * l, unreduced
  sum,                     ///< sum of w * l
  mean,                    ///< sum of w * l / number of losses
  weighted_mean,           ///< sum of w * l / sum of w; 0 where that is 0
  mean_by_nonzero_weights  ///< sum of w * l / number of w that are not 0; 0 where there are none
};
/// The names of the values, in their order.
constexpr auto names_of(Reduction) {
  return name_list("none", "sum", "mean", "weighted_mean", "mean_by_nonzero_weights");
}

/// Losses of any shape to a scalar (or as they are, for Reduction::none). As the loss of a step it
/// is on several towers what one tower would compute of all rows: `sum` with
/// EstimatorSpec::loss_over_towers a sum, the means with a mean. `weighted_mean` and
/// `mean_by_nonzero_weights` divide by the weights of all towers together, which takes a small
/// reduction over them; several micro-batches, and the towers of an evaluation, divide by their
/// own. Error: weights that do not fit, as above.
Tensor reduce_loss(Tensor losses, Reduction reduction, Tensor weights = {});

/// The weight of each example by its label, so that rare classes count as much as frequent ones:
/// weights[label], f32, of the labels' shape (i32 or i64). Error when the step runs: a label
/// outside the weights; at once: no weights, or one that is negative or not finite.
Tensor class_weights(Tensor labels, const std::vector<double>& weights);

/// Options of the losses of cross-entropy, with softmax and with sigmoid.
struct CrossEntropyLossOptions {
  double label_smoothing = 0;  ///< fraction of each target spread over all classes, in [0, 1]
  Tensor weights = {};         ///< none: all 1
};
/// -log softmax(logits)[label]: logits [..., k], labels [...] i32 or i64 -> [...]. With smoothing s
/// the target is (1 - s) * one_hot + s / k (Szegedy et al., CVPR 2016, section 7). Error: labels of
/// another shape or type; when the step runs, a label outside 0..k-1.
Tensor sparse_softmax_cross_entropy(Tensor logits, Tensor labels,
                                    CrossEntropyLossOptions options = {});

/// -sum over k of target * log softmax(logits): logits, targets [..., k] -> [...]. With smoothing s
/// a target t becomes (1 - s) * t + s / k.
Tensor softmax_cross_entropy(Tensor logits, Tensor targets, CrossEntropyLossOptions options = {});

/// Options of ctc().
struct CtcLossOptions {
  std::int64_t blank = 0;      ///< class of the blank; negative ones count from the end
  bool zero_infinity = false;  ///< labels with no path through the frames: 0, not an error
  Tensor weights = {};         ///< [n]; none: all 1
};
/// Connectionist temporal classification (Graves et al., ICML 2006), for labels that are not
/// aligned with the frames: -log of the probability of all alignments. Logits [n, t, classes]
/// before softmax, labels [n, l], logit_lengths [n] and label_lengths [n] (i32 or i64; what stands
/// behind a row's lengths is padding) -> [n] in f32, or f64 when the logits are. Not divided by
/// lengths; what PyTorch calls "mean" is the mean with weights 1 / label_lengths. All about values,
/// gradients and errors is at ctc_loss() in framework/ops/sequence/sequences.h.
Tensor ctc(Tensor logits, Tensor labels, Tensor logit_lengths, Tensor label_lengths,
           CtcLossOptions options = {});

/// Independent yes-or-no targets t in [0, 1], each with the probability sigmoid(logit x):
/// t * softplus(-x) + (1 - t) * softplus(x), which neither overflows nor cancels, averaged over all
/// axes but the first: [n, ...] -> [n]. With smoothing s a target t becomes (1 - s) * t + s / 2.
Tensor sigmoid_cross_entropy(Tensor logits, Tensor targets, CrossEntropyLossOptions options = {});

/// The options of the losses below, each the mean over all axes but the first: [n, ...] -> [n].
struct RegressionLossOptions {
  Tensor weights = {};  ///< [n]; none: all 1
};
/// Mean of (prediction - target)^2.
Tensor mean_squared_error(Tensor predictions, Tensor targets, RegressionLossOptions options = {});
/// Mean of |prediction - target|; the gradient where they are equal is 0.
Tensor mean_absolute_error(Tensor predictions, Tensor targets, RegressionLossOptions options = {});

/// Mean of exp(log_rate) - log_rate * count: -log of the probability of the counts, from 0, under
/// Poisson distributions of these rates, but for log(count!), which no rate changes
/// (tf.nn.log_poisson_loss).
Tensor poisson_loss(Tensor log_rates, Tensor counts, RegressionLossOptions options = {});

/// Options of huber().
struct HuberOptions {
  double delta = 1;     ///< error beyond which the loss grows linearly; positive
  Tensor weights = {};  ///< [n]; none: all 1
};
/// Mean of e^2 / 2 where e = |prediction - target| <= delta, else delta * (e - delta / 2) (Huber
/// 1964).
Tensor huber(Tensor predictions, Tensor targets, HuberOptions options = {});

/// The meaning of the last axis of masks to the losses of overlap.
enum class MaskChannels : std::uint8_t {
  together,     ///< no masks: all elements of an example are one; p = sigmoid(logits)
  independent,  ///< it holds masks, each with a loss of its own; p = sigmoid(logits)
  exclusive     ///< it holds masks of which one is set at each place; p = softmax(logits)
};

/// How much two masks overlap, for segmentation. Below, t are targets in [0, 1], sums are over all
/// axes but the first (and, with several masks, the last), and s is `smooth`, which keeps empty
/// masks from 0 / 0 and makes an empty prediction of an empty mask right: logits, targets [n, ...]
/// -> [n], the mean over masks.
struct OverlapLossOptions {
  double smooth = 1;                               ///< at least 0
  MaskChannels channels = MaskChannels::together;  ///< the meaning of the last axis
  Tensor weights = {};                             ///< [n]; none: all 1
};
/// 1 - (2 sum(p t) + s) / (sum(p) + sum(t) + s) (Milletari et al., "V-Net", 3DV 2016, with the
/// plain sums that most programs have since).
Tensor dice_loss(Tensor logits, Tensor targets, OverlapLossOptions options = {});
/// 1 - (sum(p t) + s) / (sum(p) + sum(t) - sum(p t) + s): one minus intersection over union.
Tensor jaccard_loss(Tensor logits, Tensor targets, OverlapLossOptions options = {});

/// Options of tversky_loss().
struct TverskyLossOptions {
  /// Weight of false positives, at least 0. With 1/2 for both the loss is Dice's.
  double false_positives = 0.3, false_negatives = 0.7;  ///< weight of false negatives, at least 0
  double smooth = 1;                                    ///< as OverlapLossOptions::smooth
  MaskChannels channels = MaskChannels::together;       ///< the meaning of the last axis
  Tensor weights = {};                                  ///< [n]; none: all 1
};
/// 1 - (sum(p t) + s) / (sum(p t) + a sum(p (1 - t)) + b sum((1 - p) t) + s), with a for false
/// positives and b for false negatives (Salehi et al., MLMI 2017).
Tensor tversky_loss(Tensor logits, Tensor targets, TverskyLossOptions options = {});

/// Options of focal_loss().
struct FocalLossOptions {
  double gamma = 2;     ///< at least 0; 0: cross-entropy
  double alpha = 0.25;  ///< weight of targets of 1, in [0, 1]; 1 - alpha is that of 0
  Tensor weights = {};  ///< [n]; none: all 1
};
/// Mean of alpha t (1 - p)^gamma * -log p + (1 - alpha) (1 - t) p^gamma * -log(1 - p) (Lin et al.,
/// ICCV 2017, equation 5): what is right already counts less. From logits, so that neither
/// overflows.
Tensor focal_loss(Tensor logits, Tensor targets, FocalLossOptions options = {});

/// Options of weighted_sigmoid_cross_entropy().
struct WeightedCrossEntropyOptions {
  /// The weights of targets of 1, at least 0: one for all, or one for each element of the last
  /// axis.
  std::vector<double> positive_weight = {1};
  Tensor weights = {};  ///< [n]; none: all 1
};
/// sigmoid_cross_entropy() with the term of t times `positive_weight`, for masks of which little is
/// set (tf.nn.weighted_cross_entropy_with_logits). Error: a number of weights other than 1 and the
/// size of the last axis.
Tensor weighted_sigmoid_cross_entropy(Tensor logits, Tensor targets,
                                      WeightedCrossEntropyOptions options = {});

/// Mean of max(0, 1 - (2 t - 1) * logit) for targets t of 0 and 1 (Cortes and Vapnik 1995); the
/// gradient at the hinge itself is 0.
Tensor hinge(Tensor logits, Tensor targets, RegressionLossOptions options = {});

}  // namespace belfry
