#pragma once
// Images and convolution kernels seen as the operands of a product, one batch a group: what conv2d
// and its gradients share. Internal to backend/cuda/kernels.

#include <tuple>

#include "belfry/framework/backend/cuda/kernels/product.h"
#include "belfry/framework/ops/conv_geometry.h"
#include "belfry/framework/ops/defs_nn.h"

namespace belfry::cuda {

/// Pixel number i of images [n, h, w].
struct Pixel {
  std::int64_t n, h, w;

  __device__ static Pixel of(std::int64_t i, std::int64_t rows, std::int64_t columns) {
    std::int64_t row = i / columns;
    std::int64_t n = row / rows;
    return {n, row - n * rows, i - row * columns};
  }
};

/// Element number i of a window [kh, kw, channel].
struct Tap {
  std::int64_t kh, kw, channel;

  __device__ static Tap of(std::int64_t i, std::int64_t columns, std::int64_t channels) {
    std::int64_t place = i / channels;
    std::int64_t kh = place / columns;
    return {kh, place - kh * columns, i - place * channels};
  }
};

/// What output pixels see of an image: lines are pixels of y, k is [kh, kw, in / groups]. Padding
/// is 0. `turned` swaps lines and k.
template <class T, bool turned>
struct WindowsOperand {
  static constexpr bool k_innermost = !turned;
  struct Line {
    std::int64_t first_channel;
    Pixel pixel;
    Tap tap;
  };
  ConvGeometry g;
  const T* x;

  __device__ Line line(std::int64_t group, std::int64_t i) const {
    Line line{group * g.in_per_group(), {}, {}};
    turned ? set_tap(line, i) : set_pixel(line, i);
    return line;
  }
  __device__ SumOf<T> at(Line line, std::int64_t k) const {
    turned ? set_pixel(line, k) : set_tap(line, k);
    std::int64_t h = g.rows.input_at(line.pixel.h, line.tap.kh);
    std::int64_t w = g.columns.input_at(line.pixel.w, line.tap.kw);
    if (!g.rows.inside(h) || !g.columns.inside(w)) return 0;
    return load(x + g.input_pixel(line.pixel.n, h, w) + line.first_channel + line.tap.channel);
  }

 private:
  __device__ void set_pixel(Line& line, std::int64_t i) const {
    line.pixel = Pixel::of(i, g.rows.out, g.columns.out);
  }
  __device__ void set_tap(Line& line, std::int64_t i) const {
    line.tap = Tap::of(i, g.columns.window, g.in_per_group());
  }
};

/// The output pixels that see an input pixel: lines are pixels of x, k is [kh, kw, out / groups].
template <class T>
struct SeenByOperand {
  static constexpr bool k_innermost = true;
  struct Line {
    std::int64_t first_channel;
    Pixel pixel;
  };
  ConvGeometry g;
  const T* dy;

  __device__ Line line(std::int64_t group, std::int64_t i) const {
    return {group * g.out_per_group(), Pixel::of(i, g.rows.in, g.columns.in)};
  }
  __device__ SumOf<T> at(const Line& line, std::int64_t k) const {
    Tap tap = Tap::of(k, g.columns.window, g.out_per_group());
    std::int64_t h = g.rows.output_at(line.pixel.h, tap.kh);
    std::int64_t w = g.columns.output_at(line.pixel.w, tap.kw);
    if (h < 0 || w < 0) return 0;
    return load(dy + g.output_pixel(line.pixel.n, h, w) + line.first_channel + tap.channel);
  }
};

/// Elements [k, out] with the group's output channels as lines: of a kernel, k being
/// [kh, kw, in / groups]; of y, k being its pixels.
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

/// A kernel with the group's input channels as lines, k being [kh, kw, out / groups].
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
    Tap tap = Tap::of(k, g.columns.window, g.out_per_group());
    return load(line + g.tap(tap.kh, tap.kw) + tap.channel);
  }
};

}  // namespace belfry::cuda
