#pragma once
// Common parts of the networks of this folder that mark pixels or voxels.

#include <cstdint>
#include <string_view>
#include <vector>

#include "belfry/framework/framework.h"

namespace belfry::models {

struct MaskOptions {
  std::int64_t classes = 1;  ///< that are marked: logits a pixel
  bool exclusive = false;    ///< each pixel is of exactly one class; then there are at least 2
  /// The weight of what is set, in the cross-entropy: one number for all classes, or one for each.
  std::vector<double> positive_weight = {1};
  double dice_weight = 1;  ///< the loss is cross-entropy + dice_weight * dice_loss()
  double threshold = 0.5;  ///< of probabilities, for the prediction "mask" and the metrics
  Optimizer optimizer = adam();
};

/// The same fields of the options of a network.
template <class Options>
MaskOptions mask_options(const Options& o) {
  return {.classes = o.classes,
          .exclusive = o.exclusive,
          .positive_weight = o.positive_weight,
          .dice_weight = o.dice_weight,
          .threshold = o.threshold,
          .optimizer = o.optimizer};
}

/// Error of `function`, whose fields they are, unless they are in range.
void check(std::string_view function, const MaskOptions& options);

/// The spec of a network with these logits [n, ..., classes]. The loss is a mean over pixels, and
/// that of dice_loss() one over classes too.
///
/// Classes that do not exclude each other: `batch["mask"]` is of the shape of the logits, floating
/// and in [0, 1]; the cross-entropy is weighted_sigmoid_cross_entropy(). Predictions: "probability"
/// and "mask" (bool), of that shape; metrics: "dice" of what is set and "background_dice" of the
/// rest, over all classes.
///
/// Exclusive classes: `batch["mask"]` are integers in 0..classes-1, [n, ...] or [n, ..., 1]; the
/// cross-entropy is sparse_softmax_cross_entropy(), that of each pixel times the weight of its
/// class. Predictions: "probability" [n, ..., classes] and "mask" i64 [n, ...], the likeliest
/// class; metric: "accuracy".
///
/// Metrics of both: "mean_iou", the mean of intersection / union of those classes that occur, in
/// what is set or in what is marked; with several classes "dice/0", "dice/1", ... of each.
///
/// Error: a mask of another size or type; in a step, one out of range.
EstimatorSpec mask_spec(const Scope& s, Tensor logits, const Batch& batch, Mode mode,
                        const MaskOptions& options);

}  // namespace belfry::models
