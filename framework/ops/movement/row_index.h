#pragma once
// Indices into one axis of an array, as kernels read them.

#include <cstdint>
#include <string_view>

#include "belfry/framework/graph/op_def.h"

namespace belfry {

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
