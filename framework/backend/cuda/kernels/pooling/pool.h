#pragma once
// Where pools read and write: a thread takes V channels of one place of an image. Internal to
// backend/cuda/kernels.

#include <algorithm>
#include <optional>

#include "belfry/framework/backend/cuda/kernels.h"
#include "belfry/framework/backend/cuda/kernels/elements.h"
#include "belfry/framework/ops/pooling/pool_geometry.h"

namespace belfry::cuda {

struct Range {
  int begin, end;
  __device__ int size() const { return end - begin; }
};

/// WindowAxis of ops/convolution/window.h for a GPU; pools have no dilation.
struct PoolAxis {
  int in = 0, out = 0, window = 1, stride = 1, before = 0;

  __device__ int start(int output) const { return output * stride - before; }
  /// Inputs that the window of an output covers.
  __device__ Range inputs(int output) const {
    int first = start(output), end = first + window;
    return {first < 0 ? 0 : first, end > in ? in : end};
  }
  /// Outputs whose windows cover an input.
  __device__ Range outputs(int input) const {
    int below = input + before - window, end = (input + before) / stride + 1;
    return {below < 0 ? 0 : below / stride + 1, end > out ? out : end};
  }
};

struct Pool {
  PoolAxis rows, columns;
  std::int64_t batch = 0, channels = 0;
  bool wide = false;  ///< whether numbers of elements need 64 bits

  std::int64_t input_elements() const { return batch * rows.in * columns.in * channels; }
  std::int64_t output_elements() const { return batch * rows.out * columns.out * channels; }
  __device__ std::int64_t input_at(std::int64_t n, int row, int column) const {
    return ((n * rows.in + row) * columns.in + column) * channels;
  }
  __device__ std::int64_t output_at(std::int64_t n, int row, int column) const {
    return ((n * rows.out + row) * columns.out + column) * channels;
  }
};

/// Nothing where the kernels' `int`s would not hold a place in the padded image, or one a window
/// behind it.
inline std::optional<Pool> pool_for(const PoolGeometry& g) {
  for (const WindowAxis& a : {g.rows, g.columns}) {
    std::int64_t behind = std::max(a.before + a.in, (a.out - 1) * a.stride) + a.window;
    if (std::max(behind, a.stride) > INT32_MAX) return std::nullopt;
  }
  auto axis = [](const WindowAxis& a) {
    return PoolAxis{static_cast<int>(a.in), static_cast<int>(a.out), static_cast<int>(a.window),
                    static_cast<int>(a.stride), static_cast<int>(a.before)};
  };
  Pool pool{axis(g.rows), axis(g.columns), g.batch, g.channels};
  pool.wide = std::max(pool.input_elements(), pool.output_elements()) > INT32_MAX;
  return pool;
}

/// The place of element `i` of an image of these sizes.
struct PoolPosition {
  std::int64_t n;
  int row, column;
  std::int64_t channel;
};

template <class Index>
__device__ PoolPosition pool_position(Index i, Index rows, Index columns, Index channels) {
  Index pixel = i / channels, line = pixel / columns, n = line / rows;
  return {static_cast<std::int64_t>(n), static_cast<int>(line - n * rows),
          static_cast<int>(pixel - line * columns),
          static_cast<std::int64_t>(i - pixel * channels)};
}
__device__ inline PoolPosition pool_position(const Pool& pool, std::int64_t i, int rows,
                                             int columns) {
  if (pool.wide) return pool_position<std::int64_t>(i, rows, columns, pool.channels);
  return pool_position<std::uint32_t>(
      static_cast<std::uint32_t>(i), static_cast<std::uint32_t>(rows),
      static_cast<std::uint32_t>(columns), static_cast<std::uint32_t>(pool.channels));
}
__device__ inline PoolPosition input_position(const Pool& pool, std::int64_t i) {
  return pool_position(pool, i, pool.rows.in, pool.columns.in);
}
__device__ inline PoolPosition output_position(const Pool& pool, std::int64_t i) {
  return pool_position(pool, i, pool.rows.out, pool.columns.out);
}

/// Calls f(std::integral_constant<int, V>), V dividing the channels.
template <class T, class F>
void with_channels_at_once(const Pool& pool, F f) {
  if (pool.channels % pack_size<T> == 0) {
    f(std::integral_constant<int, pack_size<T>>());
  } else {
    f(std::integral_constant<int, 1>());
  }
}

}  // namespace belfry::cuda
