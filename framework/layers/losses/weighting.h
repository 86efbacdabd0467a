#pragma once
// Weights of losses and metrics. Used by framework/layers alone.

#include <string_view>

#include "belfry/framework/graph/graph.h"

namespace belfry::layers {

/// `weights`, of the shape of `values` or of its leading axes, cast to `dtype` and with axes of
/// size 1 behind, so that it broadcasts against `values`. Error naming `what` when it does not fit.
Tensor fit_weights(std::string_view what, Tensor weights, const Shape& values, DType dtype);

/// values * weights in the dtype of `values`; just `values` when there are no weights.
Tensor weigh(std::string_view what, Tensor values, Tensor weights);

/// One weight for each of `like`'s elements, f64: `weights` repeated as need be, or ones.
Tensor full_weights(std::string_view what, Tensor weights, Tensor like);

}  // namespace belfry::layers
