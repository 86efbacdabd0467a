#include "belfry/framework/ops/defs_nn.h"
#include "belfry/framework/ops/nn_checks.h"
#include "belfry/framework/ops/resize/resize_geometry.h"

namespace belfry {
namespace {

std::vector<TensorType> shape(const ShapeContext& c) {
  const TensorType& x = c.inputs[0];
  require_floating(c.op, "input", x);
  return {{resize_geometry(c.op, x.shape, c.as<ResizeOptions>()).output(), x.dtype}};
}

std::vector<Tensor> gradient(const GradContext& c) {
  ResizeOptions o = c.as<ResizeOptions>();
  o.size = {c.input().size(1), c.input().size(2)};
  return {resize_bilinear_grad(c.dy(), o)};
}

double mix(double low, double high, double weight) { return low + (high - low) * weight; }

void reference(const KernelContext& c) {
  ResizeGeometry g = resize_geometry(c.op, c.input(0).shape(), c.as<ResizeOptions>());
  dispatch_floating(c.input(0).dtype(), c.op, [&](auto element) {
    using T = decltype(element);
    const T* x = c.input(0).as<T>();
    T* y = c.output().as<T>();
    for (std::int64_t n = 0; n < g.batch; ++n)
      for (std::int64_t oh = 0; oh < g.rows.out; ++oh)
        for (std::int64_t ow = 0; ow < g.columns.out; ++ow) {
          ResizeAxis::Blend row = g.rows.blend(oh), column = g.columns.blend(ow);
          const T* top_left = x + g.input_pixel(n, row.low, column.low);
          const T* top_right = x + g.input_pixel(n, row.low, column.high);
          const T* bottom_left = x + g.input_pixel(n, row.high, column.low);
          const T* bottom_right = x + g.input_pixel(n, row.high, column.high);
          for (std::int64_t k = 0; k < g.channels; ++k) {
            double top = mix(load(top_left[k]), load(top_right[k]), column.weight);
            double bottom = mix(load(bottom_left[k]), load(bottom_right[k]), column.weight);
            *y++ = store<T>(mix(top, bottom, row.weight));
          }
        }
  });
}

// Three mixes of an element: a difference, a product and a sum each.
double flops(const Node& node) { return 9.0 * node.output().shape.elements(); }

}  // namespace

const OpDef resize_bilinear_op{.name = "resize_bilinear",
                               .shape = shape,
                               .gradient = gradient,
                               .reference = reference,
                               .flops = flops};

Tensor resize_bilinear(Tensor x, ResizeOptions options) {
  return apply1(resize_bilinear_op, {x}, options);
}

}  // namespace belfry
