#pragma once
// The common parts of gather and embedding_lookup, and indices into an axis as kernels read them.

#include <cstdint>
#include <string_view>
#include <vector>

#include "belfry/framework/graph/op_def.h"
#include "belfry/framework/ops/defs.h"

namespace belfry {

/// Inputs (x, indices), AxisOptions: x[:axis] + indices + x[axis+1:].
std::vector<TensorType> gather_shape(const ShapeContext& c);
std::vector<Tensor> gather_gradient(const GradContext& c);
/// Error: an index outside the axis, with its position.
void gather_reference(const KernelContext& c);

/// An array of shape x seen as [outer, size, inner] around `axis`, with indices into the middle.
struct RowIndex {
  /// Error when an index is outside 0..size-1: names the op, the index and its position.
  RowIndex(std::string_view op, const ArrayView& indices, const Shape& x, int axis);

  std::int64_t at(std::int64_t i) const {
    return narrow ? indices.as<const std::int32_t>()[i] : indices.as<const std::int64_t>()[i];
  }

  ArrayView indices;
  bool narrow = false;  ///< indices are i32
  std::int64_t outer = 1, size = 0, inner = 1;
  std::int64_t count = 0;  ///< of indices
};

}  // namespace belfry
