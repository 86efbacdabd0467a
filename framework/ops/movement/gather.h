#pragma once
// The common parts of gather and embedding_lookup.

#include <vector>

#include "belfry/framework/ops/defs.h"

namespace belfry {

/// Inputs (x, indices), AxisOptions: x[:axis] + indices + x[axis+1:].
std::vector<TensorType> gather_shape(const ShapeContext& c);
std::vector<Tensor> gather_gradient(const GradContext& c);
/// Error: an index outside the axis, with its position.
void gather_reference(const KernelContext& c);

}  // namespace belfry
