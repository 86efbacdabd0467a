#pragma once
// The common parts of the losses. Used by framework/layers alone.

#include <string_view>

#include "belfry/framework/graph/graph.h"

namespace belfry::layers {

/// Error naming `loss` unless predictions and targets are floating, agree in shape and, but in
/// mixed precision, in dtype, and have at least `rank` axes.
void require_pair(std::string_view loss, const Tensor& predictions, const Tensor& targets,
                  int rank = 1);
/// Error naming `loss` unless 0 <= smoothing <= 1.
void require_smoothing(std::string_view loss, double smoothing);

/// targets with `smoothing` of their sum spread over `classes`: t (1 - s) + s / classes.
Tensor smooth(Tensor targets, double smoothing, std::int64_t classes);

/// Mean over all axes but the first, [n, ...] -> [n], times weights [n] if there are any.
Tensor per_example(std::string_view loss, Tensor elements, Tensor weights);

}  // namespace belfry::layers
