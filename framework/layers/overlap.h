#pragma once
// What the losses of overlapping masks share. Used by framework/layers alone.

#include <string_view>

#include "belfry/framework/graph/graph.h"

namespace belfry::layers {

/// Sums over all axes but the first, [n]: p = sigmoid(logits), targets t.
struct Overlap {
  Tensor both, predicted, wanted;  ///< of p t, p, t
};
/// Error naming `loss`: logits and targets do not fit, or `smooth` is below 0.
Overlap overlap(std::string_view loss, Tensor logits, Tensor targets, double smooth);

/// 1 - (above + smooth) / (below + smooth), times weights [n] if there are any.
Tensor one_minus_ratio(std::string_view loss, Tensor above, Tensor below, double smooth,
                       Tensor weights);

}  // namespace belfry::layers
