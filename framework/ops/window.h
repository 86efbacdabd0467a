#pragma once
// Windows that slide over images: the arithmetic of convolutions and pools, for shape rules and for
// kernels on every device.

#include <array>
#include <cstdint>
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
    return start >= 0 && start % stride == 0 && start / stride < out ? start / stride : -1;
  }
};

/// Rows, then columns.
using WindowAxes = std::array<WindowAxis, 2>;

struct Window {
  std::array<std::int64_t, 2> size = {1, 1};
  std::array<std::int64_t, 2> stride = {1, 1};
  std::array<std::int64_t, 2> dilation = {1, 1};
  Padding padding = same_padding;
};

/// How `window` slides over an image of {rows, columns}. Error naming `op`: a size, stride or
/// dilation below 1, negative padding, or a window that does not fit.
WindowAxes slide(std::string_view op, std::array<std::int64_t, 2> image, const Window& window);

}  // namespace belfry
