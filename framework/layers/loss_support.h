#pragma once
// The common parts of losses, and weights of losses and metrics. Used by framework/layers alone.

#include <string>
#include <string_view>

#include "belfry/framework/graph/graph.h"

namespace belfry::layers {

/// Error naming `loss` unless predictions and targets are floating, agree in shape and, but in
/// mixed precision, in dtype, and have at least `rank` axes.
void require_pair(std::string_view loss, const Tensor& predictions, const Tensor& targets,
                  int rank = 1);
/// Error naming `loss` unless 0 <= smoothing <= 1.
void require_smoothing(std::string_view loss, double smoothing);

/// For messages about labels that should have this shape: how to drop a last axis of size 1, if
/// that is all.
std::string reshape_hint(const Tensor& labels, const Shape& shape);

/// targets with `smoothing` of their sum spread over `classes`: t (1 - s) + s / classes.
Tensor smooth(Tensor targets, double smoothing, std::int64_t classes);

/// Mean over all axes but the first, [n, ...] -> [n], times weights [n] if there are any.
Tensor per_example(std::string_view loss, Tensor elements, Tensor weights);

/// `weights`, of the shape of `values` or of its leading axes, cast to `dtype` and with axes of
/// size 1 behind, so that it broadcasts against `values`. Error naming `what` when it does not fit.
Tensor fit_weights(std::string_view what, Tensor weights, const Shape& values, DType dtype);

/// values * weights in the dtype of `values`; just `values` when there are no weights.
Tensor weigh(std::string_view what, Tensor values, Tensor weights);

/// One weight for each of `like`'s elements, f64: `weights` repeated as need be, or ones.
Tensor full_weights(std::string_view what, Tensor weights, Tensor like);

}  // namespace belfry::layers
