#include "belfry/framework/ops/conv_geometry.h"
#include "belfry/framework/ops/defs_nn.h"
#include "belfry/framework/ops/nn_checks.h"

namespace belfry {
namespace {

ConvGeometry geometry(std::string_view op, const Shape& x, const Shape& dy,
                      const ConvGradKernelOptions& o) {
  require(x.rank() == 4, op, ": input must be [n, h, w, in], got ", x);
  require(dy.rank() == 4, op, ": output gradient must be [n, oh, ow, out], got ", dy);
  require(o.window.groups >= 1 && x[3] % o.window.groups == 0, op, ": ", x[3],
          " input channels cannot be divided into ", o.window.groups, " groups");
  Shape kernel{o.kernel_size[0], o.kernel_size[1], x[3] / o.window.groups, dy[3]};
  ConvGeometry g = conv_geometry(op, x, kernel, o.window);
  require(g.output() == dy, op, ": output gradient must be ", g.output(), " for the input ", x,
          ", got ", dy);
  return g;
}

std::vector<TensorType> shape(const ShapeContext& c) {
  const TensorType &x = c.inputs[0], &dy = c.inputs[1];
  require_floating(c.op, "input", x);
  require_same_dtype(c.op, "input", x, "output gradient", dy);
  return {{geometry(c.op, x.shape, dy.shape, c.as<ConvGradKernelOptions>()).kernel(), x.dtype}};
}

std::vector<Tensor> gradient(const GradContext& c) {
  const auto& o = c.as<ConvGradKernelOptions>();
  Tensor x = c.input(0), dy = c.input(1), ddkernel = c.dy();
  return {conv2d_grad_input(dy, ddkernel, {o.window, {x.size(1), x.size(2)}}),
          conv2d(x, ddkernel, o.window)};
}

/// The sum over batch and places that makes one element of dkernel; ic counts within a group.
template <class T>
double dot(const ConvGeometry& g, const T* x, const T* dy, std::int64_t kh, std::int64_t kw,
           std::int64_t ic, std::int64_t oc) {
  std::int64_t channel = oc / g.out_per_group() * g.in_per_group() + ic;
  double sum = 0;
  for (std::int64_t oh = 0; oh < g.rows.out; ++oh) {
    std::int64_t h = g.rows.input_at(oh, kh);
    if (!g.rows.inside(h)) continue;
    for (std::int64_t ow = 0; ow < g.columns.out; ++ow) {
      std::int64_t w = g.columns.input_at(ow, kw);
      if (!g.columns.inside(w)) continue;
      for (std::int64_t n = 0; n < g.batch; ++n)
        sum += load(x[g.input_pixel(n, h, w) + channel]) * load(dy[g.output_pixel(n, oh, ow) + oc]);
    }
  }
  return sum;
}

void reference(const KernelContext& c) {
  ConvGeometry g =
      geometry(c.op, c.input(0).shape(), c.input(1).shape(), c.as<ConvGradKernelOptions>());
  dispatch_floating(c.input(0).dtype(), c.op, [&](auto element) {
    using T = decltype(element);
    const T *x = c.input(0).as<T>(), *dy = c.input(1).as<T>();
    T* dkernel = c.output().as<T>();
    for (std::int64_t kh = 0; kh < g.rows.window; ++kh)
      for (std::int64_t kw = 0; kw < g.columns.window; ++kw)
        for (std::int64_t ic = 0; ic < g.in_per_group(); ++ic)
          for (std::int64_t oc = 0; oc < g.out_channels; ++oc)
            *dkernel++ = store<T>(dot(g, x, dy, kh, kw, ic, oc));
  });
}

double flops(const Node& node) {
  return geometry(node.op().name, node.input(0).shape(), node.input(1).shape(),
                  node.as<ConvGradKernelOptions>())
      .flops();
}

}  // namespace

const OpDef conv2d_grad_kernel_op{.name = "conv2d_grad_kernel",
                                  .shape = shape,
                                  .gradient = gradient,
                                  .reference = reference,
                                  .flops = flops};

Tensor conv2d_grad_kernel(Tensor x, Tensor dy, const ConvGradKernelOptions& options) {
  return apply1(conv2d_grad_kernel_op, {x, dy}, options);
}

}  // namespace belfry
