#include "belfry/framework/ops/conv_geometry.h"
#include "belfry/framework/ops/defs_nn.h"
#include "belfry/framework/ops/nn_checks.h"

namespace belfry {
namespace {

ConvGeometry geometry(std::string_view op, const Shape& dy, const Shape& kernel,
                      const ConvGradInputOptions& o) {
  require(dy.rank() == 4, op, ": output gradient must be [n, oh, ow, out], got ", dy);
  require(kernel.rank() == 4, op, ": kernel must be [kh, kw, in / groups, out], got ", kernel);
  Shape x{dy[0], o.input_size[0], o.input_size[1], kernel[2] * o.window.groups};
  ConvGeometry g = conv_geometry(op, x, kernel, o.window);
  require(g.output() == dy, op, ": output gradient must be ", g.output(), " for the input ", x,
          ", got ", dy);
  return g;
}

std::vector<TensorType> shape(const ShapeContext& c) {
  const TensorType &dy = c.inputs[0], &kernel = c.inputs[1];
  require_floating(c.op, "output gradient", dy);
  require_same_dtype(c.op, "output gradient", dy, "kernel", kernel);
  return {{geometry(c.op, dy.shape, kernel.shape, c.as<ConvGradInputOptions>()).input(), dy.dtype}};
}

std::vector<Tensor> gradient(const GradContext& c) {
  const auto& o = c.as<ConvGradInputOptions>();
  Tensor dy = c.input(0), kernel = c.input(1), ddx = c.dy();
  return {conv2d(ddx, kernel, o.window),
          conv2d_grad_kernel(ddx, dy, {o.window, {kernel.size(0), kernel.size(1)}})};
}

/// The sum that makes one element of dx.
template <class T>
double dot(const ConvGeometry& g, const T* dy, const T* kernel, std::int64_t n, std::int64_t h,
           std::int64_t w, std::int64_t ic) {
  std::int64_t first_channel = ic / g.in_per_group() * g.out_per_group();
  double sum = 0;
  for (std::int64_t kh = 0; kh < g.rows.window; ++kh) {
    std::int64_t oh = g.rows.output_at(h, kh);
    if (oh < 0) continue;
    for (std::int64_t kw = 0; kw < g.columns.window; ++kw) {
      std::int64_t ow = g.columns.output_at(w, kw);
      if (ow < 0) continue;
      const T* pixel = dy + g.output_pixel(n, oh, ow) + first_channel;
      const T* weights =
          kernel + g.tap(kh, kw) + ic % g.in_per_group() * g.out_channels + first_channel;
      for (std::int64_t oc = 0; oc < g.out_per_group(); ++oc)
        sum += load(pixel[oc]) * load(weights[oc]);
    }
  }
  return sum;
}

void reference(const KernelContext& c) {
  ConvGeometry g =
      geometry(c.op, c.input(0).shape(), c.input(1).shape(), c.as<ConvGradInputOptions>());
  dispatch_floating(c.input(0).dtype(), c.op, [&](auto element) {
    using T = decltype(element);
    const T *dy = c.input(0).as<T>(), *kernel = c.input(1).as<T>();
    T* dx = c.output().as<T>();
    for (std::int64_t n = 0; n < g.batch; ++n)
      for (std::int64_t h = 0; h < g.rows.in; ++h)
        for (std::int64_t w = 0; w < g.columns.in; ++w)
          for (std::int64_t ic = 0; ic < g.in_channels; ++ic)
            *dx++ = store<T>(dot(g, dy, kernel, n, h, w, ic));
  });
}

double flops(const Node& node) {
  return geometry(node.op().name, node.input(0).shape(), node.input(1).shape(),
                  node.as<ConvGradInputOptions>())
      .flops();
}

}  // namespace

const OpDef conv2d_grad_input_op{.name = "conv2d_grad_input",
                                 .shape = shape,
                                 .gradient = gradient,
                                 .reference = reference,
                                 .flops = flops};

Tensor conv2d_grad_input(Tensor dy, Tensor kernel, const ConvGradInputOptions& options) {
  return apply1(conv2d_grad_input_op, {dy, kernel}, options);
}

}  // namespace belfry
