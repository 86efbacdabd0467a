#pragma once
// The common parts of the losses of overlapping masks. Used by framework/layers alone.

#include <string_view>

#include "belfry/framework/layers/losses/losses.h"

namespace belfry::layers {

/// Sums over the elements of each mask, [n, masks]: probabilities p, targets t.
struct Overlap {
  Tensor both, predicted, wanted;  ///< of p t, p, t
};
/// Error naming `loss`: logits and targets do not fit, or `smooth` is below 0.
Overlap overlap(std::string_view loss, Tensor logits, Tensor targets, double smooth,
                MaskChannels channels);

/// 1 - (above + smooth) / (below + smooth), the mean over masks [n, masks] -> [n], times weights
/// [n] if there are any.
Tensor one_minus_ratio(std::string_view loss, Tensor above, Tensor below, double smooth,
                       Tensor weights);

}  // namespace belfry::layers
