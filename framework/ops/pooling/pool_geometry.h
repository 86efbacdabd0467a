#pragma once
// The geometry of max_pool and avg_pool and their gradients, for shape rules and for kernels on
// every device.

#include <string_view>

#include "belfry/framework/ops/convolution/window.h"

namespace belfry {

/// x [batch, rows.in, columns.in, channels] gives [batch, rows.out, columns.out, channels]. Every
/// window holds at least one element of the image.
struct PoolGeometry {
  std::int64_t batch = 0;
  WindowAxis rows = {};
  WindowAxis columns = {};
  std::int64_t channels = 0;

  Shape input() const { return {batch, rows.in, columns.in, channels}; }
  Shape output() const { return {batch, rows.out, columns.out, channels}; }
  std::int64_t input_index(std::int64_t n, std::int64_t h, std::int64_t w, std::int64_t c) const {
    return ((n * rows.in + h) * columns.in + w) * channels + c;
  }
  std::int64_t output_index(std::int64_t n, std::int64_t h, std::int64_t w, std::int64_t c) const {
    return ((n * rows.out + h) * columns.out + w) * channels + c;
  }
  /// Elements of the image inside the window at {oh, ow}.
  std::int64_t count(std::int64_t oh, std::int64_t ow) const;
  /// The type of max_pool's index: a place within the window.
  DType index_type() const { return rows.window * columns.window <= 256 ? DType::u8 : DType::i32; }
};

/// How a pool's window slides over an image of this size. Error naming `op`: the window does not
/// fit, or given padding as wide as the window (some windows would be empty).
WindowAxes pool_axes(std::string_view op, std::span<const std::int64_t> image,
                     const Window& window);

/// The pool over an image [n, h, w, c]. Error naming `op`: x is no image; the window has
/// more than 2^31 - 1 places; as pool_axes().
PoolGeometry pool_geometry(std::string_view op, const Shape& x, const Pool2dOptions& options);

/// The pool over an image of `input_size` whose output is `y`; Error naming `op` if it has another.
PoolGeometry pool_grad_geometry(std::string_view op, const Shape& y, const Pool2dOptions& options,
                                std::array<std::int64_t, 2> input_size);

/// The flops of max_pool and avg_pool: one for each place of each window, padding counted too.
double pool_flops(const Node& node);

/// Calls f(n, h, w, c) for each element of [n, h, w, c], in row-major order.
template <class F>
void for_each_element(const Shape& s, F&& f) {
  for (std::int64_t n = 0; n < s[0]; ++n)
    for (std::int64_t h = 0; h < s[1]; ++h)
      for (std::int64_t w = 0; w < s[2]; ++w)
        for (std::int64_t c = 0; c < s[3]; ++c) f(n, h, w, c);
}

}  // namespace belfry
