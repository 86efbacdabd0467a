#include "belfry/framework/ops/defs_nn.h"
#include "belfry/framework/ops/nn_checks.h"
#include "belfry/framework/ops/resize/resize_geometry.h"

namespace belfry {
namespace {

std::vector<TensorType> shape(const ShapeContext& c) {
  const TensorType& dy = c.inputs[0];
  require_floating(c.op, "output gradient", dy);
  return {{resize_grad_geometry(c.op, dy.shape, c.as<ResizeOptions>()).input(), dy.dtype}};
}

std::vector<Tensor> gradient(const GradContext& c) {
  ResizeOptions o = c.as<ResizeOptions>();
  o.size = {c.input().size(1), c.input().size(2)};
  return {resize_bilinear(c.dy(), o)};
}

struct Range {
  std::int64_t begin, end;
};

/// The outputs that read input i, be it with weight 0.
Range readers(const ResizeAxis& a, std::int64_t i) {
  return {a.first_reader(i, [&](std::int64_t o) { return a.blend(o).high; }),
          a.first_reader(i + 1, [&](std::int64_t o) { return a.blend(o).low; })};
}

void reference(const KernelContext& c) {
  ResizeGeometry g = resize_grad_geometry(c.op, c.input(0).shape(), c.as<ResizeOptions>());
  dispatch_floating(c.input(0).dtype(), c.op, [&](auto element) {
    using T = decltype(element);
    const T* dy = c.input(0).as<T>();
    T* dx = c.output().as<T>();
    for (std::int64_t n = 0; n < g.batch; ++n)
      for (std::int64_t h = 0; h < g.rows.in; ++h)
        for (std::int64_t w = 0; w < g.columns.in; ++w) {
          Range rows = readers(g.rows, h), columns = readers(g.columns, w);
          for (std::int64_t channel = 0; channel < g.channels; ++channel) {
            double sum = 0;
            for (std::int64_t oh = rows.begin; oh < rows.end; ++oh)
              for (std::int64_t ow = columns.begin; ow < columns.end; ++ow)
                sum += g.rows.blend(oh).fraction(h) * g.columns.blend(ow).fraction(w)
                       * load(dy[g.output_pixel(n, oh, ow) + channel]);
            *dx++ = store<T>(sum);
          }
        }
  });
}

}  // namespace

const OpDef resize_bilinear_grad_op{
    .name = "resize_bilinear_grad", .shape = shape, .gradient = gradient, .reference = reference};

Tensor resize_bilinear_grad(Tensor dy, const ResizeOptions& options) {
  return apply1(resize_bilinear_grad_op, {dy}, options);
}

}  // namespace belfry
