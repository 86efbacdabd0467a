#include "belfry/framework/ops/resize/resize_geometry.h"

namespace belfry {
namespace {

ResizeGeometry geometry(std::string_view op, const Shape& x, std::array<std::int64_t, 2> size,
                        bool align_corners) {
  require(x[1] >= 1 && x[2] >= 1, op, ": the image is ", x[1], " x ", x[2],
          "; it must have at least one element");
  require(size[0] >= 1 && size[1] >= 1, op, ": size must be at least 1 x 1, got ", size[0], " x ",
          size[1]);
  return {.batch = x[0],
          .rows = {x[1], size[0], align_corners},
          .columns = {x[2], size[1], align_corners},
          .channels = x[3]};
}

}  // namespace

ResizeGeometry resize_geometry(std::string_view op, const Shape& x, const ResizeOptions& options) {
  require(x.rank() == 4, op, ": input must be [n, h, w, c], got ", x);
  return geometry(op, x, options.size, options.align_corners);
}

ResizeGeometry resize_grad_geometry(std::string_view op, const Shape& y,
                                    const ResizeOptions& options) {
  require(y.rank() == 4, op, ": output gradient must be [n, h, w, c], got ", y);
  Shape x{y[0], options.size[0], options.size[1], y[3]};
  return geometry(op, x, {y[1], y[2]}, options.align_corners);
}

}  // namespace belfry
