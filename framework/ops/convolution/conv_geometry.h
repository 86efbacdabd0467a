#pragma once
// The geometry that convolutions and their gradients share, over images and over volumes, for shape
// rules and for kernels on every device.

#include <string_view>
#include <vector>

#include "belfry/framework/ops/convolution/window.h"
#include "belfry/framework/ops/defs_nn.h"

namespace belfry {

/// A place in a batch of volumes, or a tap of a window (in which n is 0).
struct Position {
  std::int64_t n = 0, d = 0, h = 0, w = 0;
};

/// x [batch, depth.in, rows.in, columns.in, in_channels] with the kernel
/// [depth.window, rows.window, columns.window, in_channels / groups, out_channels] gives
/// [batch, depth.out, rows.out, columns.out, out_channels]. Images are volumes with a depth of 1
/// under a window of 1, in arrays without that axis.
struct ConvGeometry {
  bool volume = false;  ///< whether arrays have an axis for the depth
  std::int64_t batch = 0;
  WindowAxis depth = {};
  WindowAxis rows = {};
  WindowAxis columns = {};
  std::int64_t in_channels = 0;
  std::int64_t out_channels = 0;
  std::int64_t groups = 1;

  BELFRY_HOST_DEVICE std::int64_t in_per_group() const { return in_channels / groups; }
  BELFRY_HOST_DEVICE std::int64_t out_per_group() const { return out_channels / groups; }
  /// Numbers of places.
  BELFRY_HOST_DEVICE std::int64_t in_positions() const {
    return batch * depth.in * rows.in * columns.in;
  }
  BELFRY_HOST_DEVICE std::int64_t out_positions() const {
    return batch * depth.out * rows.out * columns.out;
  }
  BELFRY_HOST_DEVICE std::int64_t taps() const {
    return depth.window * rows.window * columns.window;
  }

  /// Whether each window reads one place, its own: then y = x W with x [places, in] and W [in,
  /// out].
  bool is_product() const;
  /// The axes of the window that arrays have.
  std::vector<WindowAxis> axes() const;
  Shape input() const;
  Shape kernel() const;
  Shape output() const;

  /// The place that the window at `out` reads by `tap`; it may lie outside.
  BELFRY_HOST_DEVICE Position input_at(const Position& out, const Position& tap) const {
    return {out.n, depth.input_at(out.d, tap.d), rows.input_at(out.h, tap.h),
            columns.input_at(out.w, tap.w)};
  }
  BELFRY_HOST_DEVICE bool inside(const Position& in) const {
    return depth.inside(in.d) && rows.inside(in.h) && columns.inside(in.w);
  }
  /// The window that reads `in` by `tap`; a number in it is -1 when there is none.
  BELFRY_HOST_DEVICE Position output_at(const Position& in, const Position& tap) const {
    return {in.n, depth.output_at(in.d, tap.d), rows.output_at(in.h, tap.h),
            columns.output_at(in.w, tap.w)};
  }

  /// Offsets of the first element at a place, channels following; of a tap [in / groups, out] in
  /// the kernel.
  BELFRY_HOST_DEVICE std::int64_t input_offset(const Position& p) const {
    return (((p.n * depth.in + p.d) * rows.in + p.h) * columns.in + p.w) * in_channels;
  }
  BELFRY_HOST_DEVICE std::int64_t output_offset(const Position& p) const {
    return (((p.n * depth.out + p.d) * rows.out + p.h) * columns.out + p.w) * out_channels;
  }
  BELFRY_HOST_DEVICE std::int64_t tap_offset(const Position& tap) const {
    return ((tap.d * rows.window + tap.h) * columns.window + tap.w) * in_per_group() * out_channels;
  }

  /// The flops of each of the three directions, counting multiply-adds as two and padding as if it
  /// were data.
  double flops() const {
    return 2.0 * (out_positions() * out_channels) * (taps() * in_per_group());
  }
};

/// The convolution of x [n, (d,) h, w, in] with a kernel [(kd,) kh, kw, in / groups, out], of as
/// many axes as the options are for. Error naming `op` when they do not fit together.
ConvGeometry conv_geometry(std::string_view op, const Shape& x, const Shape& kernel,
                           const ConvWindow& window);

/// The geometry of a node that is a convolution or one of its gradients.
ConvGeometry conv_geometry(const Node& node);

}  // namespace belfry
