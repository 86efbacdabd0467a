#pragma once
// Windows that slide over images: the arithmetic of convolutions and pools, for shape rules and for
// kernels on every device.

#include <array>
#include <cstdint>
#include <span>
#include <string_view>

#include "belfry/framework/base/host_device.h"
#include "belfry/framework/ops/nn.h"

namespace belfry {

/// One spatial axis: output o reads inputs o * stride - before + k * dilation, 0 <= k < window, as
/// far as they lie inside 0..in-1.
struct WindowAxis {
  std::int64_t in = 0;   ///< size of the image
  std::int64_t out = 0;  ///< number of places of the window
  std::int64_t window = 1;
  std::int64_t stride = 1;
  std::int64_t dilation = 1;
  std::int64_t before = 0;  ///< padding in front
  std::int64_t after = 0;   ///< padding behind; some of it may be out of the last window's reach

  /// Inputs from the first to the last that a window spans.
  BELFRY_HOST_DEVICE std::int64_t extent() const { return (window - 1) * dilation + 1; }
  BELFRY_HOST_DEVICE std::int64_t input_at(std::int64_t o, std::int64_t k) const {
    return o * stride - before + k * dilation;
  }
  BELFRY_HOST_DEVICE bool inside(std::int64_t i) const { return i >= 0 && i < in; }
  /// The output whose k-th tap reads input i, or -1.
  BELFRY_HOST_DEVICE std::int64_t output_at(std::int64_t i, std::int64_t k) const {
    std::int64_t start = i + before - k * dilation;
    if (stride == 1) return start >= 0 && start < out ? start : -1;  // spares a division
    return start >= 0 && start % stride == 0 && start / stride < out ? start / stride : -1;
  }
};

/// Depth, rows, columns. An image with fewer axes has a size of 1 along the first ones, under a
/// window of 1.
using WindowAxes = std::array<WindowAxis, 3>;
/// The name for the elements along axis `i` of `axes`, for messages: slices, rows, columns; samples
/// of a signal.
std::string_view axis_name(std::size_t axes, std::size_t i);

/// One number for each axis of an image, three at most: (depth,) (rows,) columns.
struct Window {
  std::span<const std::int64_t> size, stride;
  std::span<const std::int64_t> dilation = {};  ///< none: 1
  Padding padding = same_padding;
};

/// Error naming `op`: a size, stride or dilation below 1, negative padding, any of these above 2^31
/// - 1, or padding of another number of axes.
void check_window(std::string_view op, const Window& window);

/// How `window` slides over an image of this size. Error naming `op`: as check_window(), an
/// image without elements, or a window that does not fit.
WindowAxes slide(std::string_view op, std::span<const std::int64_t> image, const Window& window);

/// The padding of an image of two axes, which are axes `rows` and `columns` of something that is
/// padded as said; -1 is an axis of size 1, without padding. Error naming `op` if `padding` is
/// given and not of `axes` axes.
Padding image_padding(std::string_view op, const Padding& padding, int axes, int rows, int columns);

}  // namespace belfry
