#pragma once
// Walking over elements that lie at regular distances: what reference kernels share.

#include <array>
#include <cstdint>

#include "belfry/framework/tensor/shape.h"

namespace belfry {

/// Distance between neighbours along each axis, in elements.
using Strides = std::array<std::int64_t, Shape::max_rank>;

/// The strides of a row-major array.
inline Strides row_major(const Shape& shape) {
  Strides strides{};
  std::int64_t distance = 1;
  for (int i = shape.rank() - 1; i >= 0; --i) {
    strides[i] = distance;
    distance *= shape[i];
  }
  return strides;
}

/// The strides of a row-major `operand` seen as if it had the shape `shape` to which it broadcasts:
/// 0 along the axes that repeat.
inline Strides broadcast_strides(const Shape& operand, const Shape& shape) {
  Strides own = row_major(operand), strides{};
  int added = shape.rank() - operand.rank();
  for (int i = 0; i < operand.rank(); ++i)
    if (operand[i] != 1) strides[i + added] = own[i];
  return strides;
}

/// Visits the places of `shape` in row-major order and calls f(offsets) for each, with the offset
/// that each of N operands has there, counted in elements from its own `start`.
template <int N, class F>
void strided_walk(const Shape& shape, const std::array<Strides, N>& strides, F&& f,
                  std::array<std::int64_t, N> start = {}) {
  if (shape.elements() == 0) return;
  int outer = shape.rank() > 0 ? shape.rank() - 1 : 0;  // axes that the inner loop leaves
  std::size_t last = outer;
  std::int64_t inner = shape.rank() > 0 ? shape[outer] : 1;
  std::array<std::int64_t, Shape::max_rank> index{};
  for (std::int64_t left = shape.elements() / inner; left > 0; --left) {
    std::array<std::int64_t, N> at = start;
    for (std::int64_t i = 0; i < inner; ++i) {
      f(static_cast<const std::array<std::int64_t, N>&>(at));
      for (std::size_t n = 0; n < N; ++n) at[n] += strides[n][last];
    }
    for (int axis = outer - 1; axis >= 0; --axis) {
      std::size_t a = axis;
      if (++index[a] < shape[axis]) {
        for (std::size_t n = 0; n < N; ++n) start[n] += strides[n][a];
        break;
      }
      index[a] = 0;
      for (std::size_t n = 0; n < N; ++n) start[n] -= strides[n][a] * (shape[axis] - 1);
    }
  }
}

}  // namespace belfry
