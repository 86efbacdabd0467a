#pragma once
// Reductions over axes. An empty list of axes means all. Floating sums accumulate in at least
// float, in an order that depends on the shape alone.

#include <vector>

#include "belfry/framework/graph/graph.h"

namespace belfry {

struct ReduceOptions {
  std::vector<int> axes = {};  ///< negative ones count from the end; empty: all
  bool keep_dims = false;      ///< leave reduced axes as size 1
  BELFRY_FIELDS(axes, keep_dims)
};

Tensor sum(Tensor x, ReduceOptions options = {});
Tensor mean(Tensor x, ReduceOptions options = {});  ///< of no elements: NaN
Tensor max(Tensor x,
           ReduceOptions options = {});  ///< ties share the gradient evenly; of none: -inf
Tensor min(Tensor x, ReduceOptions options = {});  ///< ties share the gradient evenly; of none: inf
Tensor prod(Tensor x, ReduceOptions options = {});  ///< gradient exact with zeros among the factors

/// Index of the largest (smallest) element along an axis, i64; the first among equals; NaN counts
/// as largest (smallest). Error: the axis has size 0.
Tensor argmax(Tensor x, int axis);
Tensor argmin(Tensor x, int axis);

/// x summed over the axes that broadcasting to its shape had added, giving `shape`: the gradient of
/// broadcasting.
Tensor sum_to(Tensor x, const Shape& shape);

}  // namespace belfry
