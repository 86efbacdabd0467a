#pragma once
// Images (or volumes) and convolution kernels seen as the operands of a product, one batch a group:
// what convolutions and their gradients share. Internal to backend/cuda/kernels.

#include <tuple>

#include "belfry/framework/backend/cuda/kernels/convolution/product.h"
#include "belfry/framework/ops/convolution/conv_geometry.h"
#include "belfry/framework/ops/defs_nn.h"

namespace belfry::cuda {

/// i / size, the remainder staying in i. Axes of one place, such as the depth of images, cost no
/// division.
__device__ inline std::int64_t take_quotient(std::int64_t& i, std::int64_t size) {
  std::int64_t quotient = size == 1 ? i : i / size;
  i -= quotient * size;
  return quotient;
}

/// Place number i among [n, depth, rows, columns].
__device__ inline Position position_of(std::int64_t i, std::int64_t depth, std::int64_t rows,
                                       std::int64_t columns) {
  Position position;
  std::int64_t row = take_quotient(i, columns);
  position.w = i;
  std::int64_t slice = take_quotient(row, rows);
  position.h = row;
  position.n = take_quotient(slice, depth);
  position.d = slice;
  return position;
}

/// Element number i of a window [kd, kh, kw, channel].
struct Tap {
  Position position;
  std::int64_t channel;

  __device__ static Tap of(std::int64_t i, const ConvGeometry& g, std::int64_t channels) {
    std::int64_t position = take_quotient(i, channels);
    return {position_of(position, g.depth.window, g.rows.window, g.columns.window), i};
  }
};

/// The part of an image that places of the output see: lines are places of y, k is
/// [kd, kh, kw, in / groups]. Padding is 0. `turned` swaps lines and k.
template <class T, bool turned>
struct WindowsOperand {
  static constexpr bool k_innermost = !turned;
  struct Line {
    std::int64_t first_channel;
    Position out;
    Tap tap;
  };
  ConvGeometry g;
  const T* x;

  __device__ Line line(std::int64_t group, std::int64_t i) const {
    Line line{group * g.in_per_group(), {}, {}};
    turned ? set_tap(line, i) : set_position(line, i);
    return line;
  }
  __device__ SumOf<T> at(Line line, std::int64_t k) const {
    turned ? set_position(line, k) : set_tap(line, k);
    Position in = g.input_at(line.out, line.tap.position);
    if (!g.inside(in)) return 0;
    return load(x + g.input_offset(in) + line.first_channel + line.tap.channel);
  }

 private:
  __device__ void set_position(Line& line, std::int64_t i) const {
    line.out = position_of(i, g.depth.out, g.rows.out, g.columns.out);
  }
  __device__ void set_tap(Line& line, std::int64_t i) const {
    line.tap = Tap::of(i, g, g.in_per_group());
  }
};

/// The places of the output that see an element of an image: lines are places of x, k is
/// [kd, kh, kw, out / groups].
template <class T>
struct SeenByOperand {
  static constexpr bool k_innermost = true;
  struct Line {
    std::int64_t first_channel;
    Position in;
  };
  ConvGeometry g;
  const T* dy;

  __device__ Line line(std::int64_t group, std::int64_t i) const {
    return {group * g.out_per_group(), position_of(i, g.depth.in, g.rows.in, g.columns.in)};
  }
  __device__ SumOf<T> at(const Line& line, std::int64_t k) const {
    Tap tap = Tap::of(k, g, g.out_per_group());
    Position out = g.output_at(line.in, tap.position);
    if (out.d < 0 || out.h < 0 || out.w < 0) return 0;
    return load(dy + g.output_offset(out) + line.first_channel + tap.channel);
  }
};

/// Elements [k, out] with the group's output channels as lines: of a kernel, k being
/// [kd, kh, kw, in / groups]; of y, k being its places.
template <class T>
struct ColumnsOperand {
  static constexpr bool k_innermost = false;
  using Line = const T*;
  std::int64_t channels, of_group;
  const T* data;

  __device__ Line line(std::int64_t group, std::int64_t i) const {
    return data + group * of_group + i;
  }
  __device__ SumOf<T> at(Line line, std::int64_t k) const { return load(line + k * channels); }
};

/// A kernel with the group's input channels as lines, k being [kd, kh, kw, out / groups].
template <class T>
struct TransposedKernelOperand {
  static constexpr bool k_innermost = true;
  using Line = const T*;
  ConvGeometry g;
  const T* kernel;

  __device__ Line line(std::int64_t group, std::int64_t i) const {
    return kernel + i * g.out_channels + group * g.out_per_group();
  }
  __device__ SumOf<T> at(Line line, std::int64_t k) const {
    Tap tap = Tap::of(k, g, g.out_per_group());
    return load(line + g.tap_offset(tap.position) + tap.channel);
  }
};

}  // namespace belfry::cuda
