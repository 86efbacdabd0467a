#pragma once
// The geometry that conv2d and its two gradients share, for shape rules and for kernels on every
// device.

#include <string_view>

#include "belfry/framework/ops/window.h"

namespace belfry {

/// x [batch, rows.in, columns.in, in_channels] with the kernel
/// [rows.window, columns.window, in_channels / groups, out_channels] gives
/// [batch, rows.out, columns.out, out_channels].
struct ConvGeometry {
  std::int64_t batch = 0;
  WindowAxis rows = {};
  WindowAxis columns = {};
  std::int64_t in_channels = 0;
  std::int64_t out_channels = 0;
  std::int64_t groups = 1;

  BELFRY_HOST_DEVICE std::int64_t in_per_group() const { return in_channels / groups; }
  BELFRY_HOST_DEVICE std::int64_t out_per_group() const { return out_channels / groups; }
  Shape input() const { return {batch, rows.in, columns.in, in_channels}; }
  Shape kernel() const { return {rows.window, columns.window, in_per_group(), out_channels}; }
  Shape output() const { return {batch, rows.out, columns.out, out_channels}; }

  /// Offsets of the first element at a place, channels following; of a tap [in / groups, out] in
  /// the kernel.
  BELFRY_HOST_DEVICE std::int64_t input_pixel(std::int64_t n, std::int64_t h,
                                              std::int64_t w) const {
    return ((n * rows.in + h) * columns.in + w) * in_channels;
  }
  BELFRY_HOST_DEVICE std::int64_t output_pixel(std::int64_t n, std::int64_t h,
                                               std::int64_t w) const {
    return ((n * rows.out + h) * columns.out + w) * out_channels;
  }
  BELFRY_HOST_DEVICE std::int64_t tap(std::int64_t kh, std::int64_t kw) const {
    return (kh * columns.window + kw) * in_per_group() * out_channels;
  }

  /// Of each of the three directions, counting multiply-adds as two and padding as if it were data.
  double flops() const {
    return 2.0 * static_cast<double>(output().elements())
           * static_cast<double>(rows.window * columns.window * in_per_group());
  }
};

/// The convolution of an image x [n, h, w, in] with a kernel [kh, kw, in / groups, out]. Error
/// naming `op` when they do not fit together.
ConvGeometry conv_geometry(std::string_view op, const Shape& x, const Shape& kernel,
                           const Conv2dOptions& options);

}  // namespace belfry
