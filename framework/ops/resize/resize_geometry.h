#pragma once
// Where resized images read, for shape rules and for kernels on every device.

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string_view>

#include "belfry/framework/base/host_device.h"
#include "belfry/framework/ops/nn.h"

namespace belfry {

/// One spatial axis of a resize from `in` to `out` elements.
///
/// With half-pixel centres output o lies at (o + 0.5) in / out - 0.5 of the input; with aligned
/// corners at o (in - 1) / (out - 1), or 0 when there is one output.
struct ResizeAxis {
  std::int64_t in = 1;
  std::int64_t out = 1;
  bool align_corners = false;

  /// The input nearest to output o, the higher of two that are equally near. In integers, so that
  /// no rounding moves it.
  BELFRY_HOST_DEVICE std::int64_t nearest(std::int64_t o) const {
    if (!align_corners) return (2 * o + 1) * in / (2 * out);
    if (out == 1) return 0;
    return (2 * o * (in - 1) + out - 1) / (2 * (out - 1));
  }

  /// Output o is (1 - weight) x[low] + weight x[high].
  struct Blend {
    std::int64_t low, high;
    double weight;
    /// The fraction of input i in the output.
    BELFRY_HOST_DEVICE double fraction(std::int64_t i) const {
      return (i == low ? 1 - weight : 0) + (i == high ? weight : 0);
    }
  };
  BELFRY_HOST_DEVICE Blend blend(std::int64_t o) const {
    double o_ = o, in_ = in, out_ = out;
    double at = align_corners ? (out == 1 ? 0 : o_ * (in_ - 1) / (out_ - 1))
                              : (o_ + 0.5) * in_ / out_ - 0.5;
    at = std::min(std::max(at, 0.0), in_ - 1);
    double low = std::floor(at);
    auto index = static_cast<std::int64_t>(low);
    return {index, std::min(index + 1, in - 1), at - low};
  }

  /// The first output for which `last_read`(o), which never falls, is at least i; `out` if none.
  template <class F>
  std::int64_t first_reader(std::int64_t i, F&& last_read) const {
    std::int64_t begin = 0, end = out;
    while (begin < end) {
      std::int64_t middle = (begin + end) / 2;
      if (last_read(middle) < i)
        begin = middle + 1;
      else
        end = middle;
    }
    return begin;
  }
};

/// x [batch, rows.in, columns.in, channels] gives [batch, rows.out, columns.out, channels].
struct ResizeGeometry {
  std::int64_t batch = 0;
  ResizeAxis rows = {};
  ResizeAxis columns = {};
  std::int64_t channels = 0;

  Shape input() const { return {batch, rows.in, columns.in, channels}; }
  Shape output() const { return {batch, rows.out, columns.out, channels}; }
  /// Offsets of the first channel at a place.
  BELFRY_HOST_DEVICE std::int64_t input_pixel(std::int64_t n, std::int64_t h,
                                              std::int64_t w) const {
    return ((n * rows.in + h) * columns.in + w) * channels;
  }
  BELFRY_HOST_DEVICE std::int64_t output_pixel(std::int64_t n, std::int64_t h,
                                               std::int64_t w) const {
    return ((n * rows.out + h) * columns.out + w) * channels;
  }
};

/// The resize of an image [n, h, w, c]; Error naming `op`: x is no image, or a size is below 1.
ResizeGeometry resize_geometry(std::string_view op, const Shape& x, const ResizeOptions& options);

/// The resize whose output is `y`, of an image of options.size.
ResizeGeometry resize_grad_geometry(std::string_view op, const Shape& y,
                                    const ResizeOptions& options);

}  // namespace belfry
