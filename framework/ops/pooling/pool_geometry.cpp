#include "belfry/framework/ops/pooling/pool_geometry.h"

#include <algorithm>
#include <limits>

namespace belfry {
namespace {

/// Taps of the window at `o` that fall inside the image.
std::int64_t taps_inside(const WindowAxis& a, std::int64_t o) {
  std::int64_t start = a.input_at(o, 0);
  return std::min(start + a.window, a.in) - std::max<std::int64_t>(start, 0);
}

void check_padding(std::string_view op, const WindowAxis& a, std::string_view what) {
  require(a.before < a.window && a.after < a.window, op, ": padding ", a.before, " + ", a.after,
          " of ", what, " must be less than the window of ", a.window,
          ", or some windows would be empty");
}

}  // namespace

std::int64_t PoolGeometry::count(std::int64_t oh, std::int64_t ow) const {
  return taps_inside(rows, oh) * taps_inside(columns, ow);
}

WindowAxes pool_axes(std::string_view op, std::span<const std::int64_t> image,
                     const Window& window) {
  WindowAxes axes = slide(op, image, window);
  std::size_t count = image.size(), missing = axes.size() - count;
  for (std::size_t i = 0; i < count; ++i) check_padding(op, axes[missing + i], axis_name(count, i));
  return axes;
}

PoolGeometry pool_geometry(std::string_view op, const Shape& x, const Pool2dOptions& options) {
  require(x.rank() == 4, op, ": input must be [n, h, w, c], got ", x);
  auto [depth, rows, columns] = pool_axes(op, x.sizes().subspan(1, 2),
                                          {.size = options.window.array(),
                                           .stride = options.stride.array(),
                                           .padding = options.padding});
  require(rows.window <= std::numeric_limits<std::int32_t>::max() / columns.window, op,
          ": a window of ", rows.window, " x ", columns.window,
          "; its places are counted in 32 bits");
  return {.batch = x[0], .rows = rows, .columns = columns, .channels = x[3]};
}

double pool_flops(const Node& node) {
  auto window = node.as<Pool2dOptions>().window.array();
  return static_cast<double>(window[0] * window[1]) * node.output().shape.elements();
}

PoolGeometry pool_grad_geometry(std::string_view op, const Shape& y, const Pool2dOptions& options,
                                std::array<std::int64_t, 2> input_size) {
  require(y.rank() == 4, op, ": output gradient must be [n, oh, ow, c], got ", y);
  Shape x{y[0], input_size[0], input_size[1], y[3]};
  PoolGeometry g = pool_geometry(op, x, options);
  require(g.output() == y, op, ": output gradient must be ", g.output(), " for the input ", x,
          ", got ", y);
  return g;
}

}  // namespace belfry
