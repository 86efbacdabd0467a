#pragma once
// What the networks of this folder that mark pixels or voxels share.

#include <string_view>

#include "belfry/framework/framework.h"

namespace belfry::models {

struct MaskOptions {
  double positive_weight = 1;  ///< of what is set, in the cross-entropy
  double dice_weight = 1;      ///< the loss is cross-entropy + dice_weight * dice_loss()
  double threshold = 0.5;      ///< of probabilities, for the prediction "mask" and the metrics
  Optimizer optimizer = adam();
};

/// Error of `function`, whose fields they are, unless they are in range.
void check(std::string_view function, const MaskOptions& options);

/// The spec of a network with these logits [n, ..., 1], compared with `batch["mask"]`, which is of
/// the same shape, floating and in [0, 1], which is checked in each step. Predictions:
/// "probability" and "mask" (bool); metrics: "dice" of what is set and "background_dice" of the
/// rest. Error: a mask of another size or type.
EstimatorSpec mask_spec(const Scope& s, Tensor logits, const Batch& batch, Mode mode,
                        const MaskOptions& options);

}  // namespace belfry::models
