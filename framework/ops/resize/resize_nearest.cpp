#include <algorithm>

#include "belfry/framework/ops/defs_nn.h"
#include "belfry/framework/ops/resize/resize_geometry.h"

namespace belfry {
namespace {

std::vector<TensorType> shape(const ShapeContext& c) {
  ResizeGeometry g = resize_geometry(c.op, c.inputs[0].shape, c.as<ResizeOptions>());
  return {{g.output(), c.inputs[0].dtype}};
}

std::vector<Tensor> gradient(const GradContext& c) {
  ResizeOptions o = c.as<ResizeOptions>();
  o.size = {c.input().size(1), c.input().size(2)};
  return {resize_nearest_grad(c.dy(), o)};
}

void reference(const KernelContext& c) {
  ResizeGeometry g = resize_geometry(c.op, c.input(0).shape(), c.as<ResizeOptions>());
  dispatch(c.input(0).dtype(), [&](auto element) {
    using T = decltype(element);
    const T* x = c.input(0).as<T>();
    T* y = c.output().as<T>();
    for (std::int64_t n = 0; n < g.batch; ++n)
      for (std::int64_t oh = 0; oh < g.rows.out; ++oh)
        for (std::int64_t ow = 0; ow < g.columns.out; ++ow) {
          const T* pixel = x + g.input_pixel(n, g.rows.nearest(oh), g.columns.nearest(ow));
          y = std::copy_n(pixel, g.channels, y);
        }
  });
}

}  // namespace

const OpDef resize_nearest_op{
    .name = "resize_nearest", .shape = shape, .gradient = gradient, .reference = reference};

Tensor resize_nearest(Tensor x, ResizeOptions options) {
  return apply1(resize_nearest_op, {x}, options);
}

}  // namespace belfry
