#pragma once
// Where the operands of a broadcasting or strided kernel lie: worked out on the host.

#include <array>
#include <cstdint>

#include "belfry/framework/backend/cuda/kernels/offsets.h"
#include "belfry/framework/ops/elementwise/strided_walk.h"
#include "belfry/framework/tensor/shape.h"

namespace belfry::cuda {

static_assert(most_axes == Shape::max_rank);

/// The axes along which matrices are counted: all but the last two.
inline Shape leading(const Shape& shape) { return Shape(shape.sizes().first(shape.rank() - 2)); }

/// `strides` of each operand, in elements, for the axes of `shape`.
template <int N>
Layout<N> make_layout(const Shape& shape, const std::array<Strides, N>& strides) {
  Layout<N> layout;
  layout.wide = shape.elements() > INT32_MAX;
  for (int axis = 0; axis < shape.rank(); ++axis) {
    std::size_t a = axis;
    if (shape[axis] == 1) continue;
    int last = layout.rank - 1;
    bool merges = last >= 0;
    for (std::size_t n = 0; n < N && merges; ++n)
      merges = layout.strides[n][last] == strides[n][a] * shape[axis];
    if (!merges) {
      ++last;
      ++layout.rank;
      layout.sizes[last] = 1;
    }
    layout.sizes[last] *= shape[axis];
    for (std::size_t n = 0; n < N; ++n) layout.strides[n][last] = strides[n][a];
  }
  return layout;
}

}  // namespace belfry::cuda
