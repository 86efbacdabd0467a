#include "belfry/framework/ops/convolution/one_row.h"
#include "belfry/framework/ops/movement/shape_ops.h"
#include "belfry/framework/ops/nn_checks.h"
#include "belfry/framework/ops/pooling/pool_geometry.h"

namespace belfry {
namespace {

Tensor pool_row(std::string_view name, const Tensor& x, const Pool1dOptions& o,
                Tensor (*pool)(Tensor, Pool2dOptions)) {
  require_defined(name, {x});
  check_at(x, [&] {
    require_input(name, x.type(), 1);
    pool_axes(name, x.shape().sizes().subspan(1, 1),
              {.size = {&o.window, 1}, .stride = {&o.stride, 1}, .padding = o.padding});
  });
  return as_signal(pool(as_image(x), image_options(name, o)));
}

/// Over the rows and columns of each slice, and then over the slices of what that gives. The
/// maximum is the maximum of the slices' maxima, and the first one of the window, to which the
/// gradient goes, is the first of the first slice that has one. The part of a window that is inside
/// the volume is a box: each of its slices has as many elements, so the average of the slices'
/// averages is the average of all.
Tensor pool_volume(std::string_view name, const Tensor& x, const Pool3dOptions& o,
                   Tensor (*pool)(Tensor, Pool2dOptions)) {
  require_defined(name, {x});
  check_at(x, [&] {
    require_input(name, x.type(), 3);
    pool_axes(name, x.shape().sizes().subspan(1, 3),
              {.size = o.window.array(), .stride = o.stride.array(), .padding = o.padding});
  });
  std::int64_t n = x.size(0), depth = x.size(1), channels = x.size(4);
  Tensor slices = pool(reshape(x, Shape{n * depth, x.size(2), x.size(3), channels}),
                       {.window = {o.window.rows, o.window.columns},
                        .stride = {o.stride.rows, o.stride.columns},
                        .padding = image_padding(name, o.padding, 3, 1, 2)});
  std::int64_t rows = slices.size(1), columns = slices.size(2);
  Tensor y = pool(reshape(slices, Shape{n, depth, rows * columns, channels}),
                  {.window = {o.window.depth, 1},
                   .stride = {o.stride.depth, 1},
                   .padding = image_padding(name, o.padding, 3, 0, -1)});
  return reshape(y, Shape{n, y.size(1), rows, columns, channels});
}

}  // namespace

Tensor max_pool1d(Tensor x, Pool1dOptions options) {
  return pool_row("max_pool1d", x, options, max_pool);
}

Tensor avg_pool1d(Tensor x, Pool1dOptions options) {
  return pool_row("avg_pool1d", x, options, avg_pool);
}

Tensor max_pool3d(Tensor x, Pool3dOptions options) {
  return pool_volume("max_pool3d", x, options, max_pool);
}

Tensor avg_pool3d(Tensor x, Pool3dOptions options) {
  return pool_volume("avg_pool3d", x, options, avg_pool);
}

}  // namespace belfry
