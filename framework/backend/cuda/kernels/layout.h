#pragma once
// Where the operands of a broadcasting or strided kernel lie. Made on the host, read on the GPU.

#include <array>
#include <cstdint>

#include "belfry/framework/ops/functors.h"
#include "belfry/framework/ops/strided_walk.h"
#include "belfry/framework/tensor/shape.h"

namespace belfry::cuda {

/// N operands seen under one shape, axes that all of them walk alike being merged into one.
template <int N>
struct Layout {
  int rank = 0;
  bool wide = false;  ///< whether places need 64 bits
  std::int64_t sizes[Shape::max_rank] = {};
  std::int64_t strides[N][Shape::max_rank] = {};

  /// Where each operand's element number `i` lies, in row-major order of the shape.
  BELFRY_HOST_DEVICE void offsets(std::int64_t i, std::int64_t (&out)[N]) const {
    for (int n = 0; n < N; ++n) out[n] = 0;
    if (wide) {
      walk<std::int64_t>(i, out);
    } else {
      walk<std::uint32_t>(static_cast<std::uint32_t>(i), out);
    }
  }

 private:
  template <class Index>
  BELFRY_HOST_DEVICE void walk(Index i, std::int64_t (&out)[N]) const {
    for (int axis = rank - 1; axis >= 0; --axis) {
      auto size = static_cast<Index>(sizes[axis]);
      Index above = axis == 0 ? 0 : i / size, at = i - above * size;
      for (int n = 0; n < N; ++n) out[n] += static_cast<std::int64_t>(at) * strides[n][axis];
      i = above;
    }
  }
};

/// `strides` of each operand, in elements, for the axes of `shape`.
template <int N>
Layout<N> make_layout(const Shape& shape, const std::array<Strides, N>& strides) {
  Layout<N> layout;
  layout.wide = shape.elements() > INT32_MAX;
  for (int axis = 0; axis < shape.rank(); ++axis) {
    auto a = static_cast<std::size_t>(axis);
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
