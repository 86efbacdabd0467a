#pragma once
// Where the operands of a broadcasting or strided kernel lie, as the GPU reads it. Kernels that are
// compiled while the program runs include this file too, so it includes nothing of the host's.

#include <cstdint>

#include "belfry/framework/base/host_device.h"

namespace belfry::cuda {

constexpr int most_axes = 8;  ///< of a shape

/// N operands seen under one shape, axes that all of them walk alike being merged into one. Made by
/// make_layout().
template <int N>
struct Layout {
  int rank = 0;
  bool wide = false;  ///< whether places need 64 bits
  std::int64_t sizes[most_axes] = {};
  std::int64_t strides[N][most_axes] = {};

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

}  // namespace belfry::cuda
