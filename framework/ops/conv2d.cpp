#include "belfry/framework/ops/conv_geometry.h"
#include "belfry/framework/ops/defs_nn.h"
#include "belfry/framework/ops/functors.h"
#include "belfry/framework/ops/math.h"
#include "belfry/framework/ops/nn_checks.h"
#include "belfry/framework/ops/reduce.h"

namespace belfry {

std::string to_string(Activation activation) {
  switch (activation) {
    case Activation::none:
      return "none";
    case Activation::relu:
      return "relu";
  }
  fail("internal error in Belfry: unknown activation");
}

namespace {

std::vector<TensorType> shape(const ShapeContext& c) {
  const auto& o = c.as<ConvOptions>();
  const TensorType &x = c.inputs[0], &kernel = c.inputs[1];
  ensure(c.inputs.size() == (o.bias ? 3 : 2), c.op, ": ", c.inputs.size(), " inputs");
  require_floating(c.op, "input", x);
  require_same_dtype(c.op, "input", x, "kernel", kernel);
  ConvGeometry g = conv_geometry(c.op, x.shape, kernel.shape, o.window);
  if (o.bias) require_type(c.op, "bias", c.inputs[2], {{g.out_channels}, x.dtype});
  return {{g.output(), x.dtype}};
}

std::vector<Tensor> gradient(const GradContext& c) {
  const auto& o = c.as<ConvOptions>();
  Tensor x = c.input(0), kernel = c.input(1), dy = c.dy();
  if (o.activation == Activation::relu) dy = relu_grad(dy, c.output());
  std::vector<Tensor> grads = {
      conv2d_grad_input(dy, kernel, {o.window, {x.size(1), x.size(2)}}),
      conv2d_grad_kernel(x, dy, {o.window, {kernel.size(0), kernel.size(1)}})};
  if (o.bias) grads.push_back(sum(dy, {.axes = {0, 1, 2}}));
  return grads;
}

/// The sum that makes one output element, without bias.
template <class T>
double dot(const ConvGeometry& g, const T* x, const T* kernel, std::int64_t n, std::int64_t oh,
           std::int64_t ow, std::int64_t oc) {
  std::int64_t first_channel = oc / g.out_per_group() * g.in_per_group();
  double sum = 0;
  for (std::int64_t kh = 0; kh < g.rows.window; ++kh) {
    std::int64_t h = g.rows.input_at(oh, kh);
    if (!g.rows.inside(h)) continue;
    for (std::int64_t kw = 0; kw < g.columns.window; ++kw) {
      std::int64_t w = g.columns.input_at(ow, kw);
      if (!g.columns.inside(w)) continue;
      const T* pixel = x + g.input_pixel(n, h, w) + first_channel;
      const T* weights = kernel + g.tap(kh, kw) + oc;
      for (std::int64_t ic = 0; ic < g.in_per_group(); ++ic)
        sum += load(pixel[ic]) * load(weights[ic * g.out_channels]);
    }
  }
  return sum;
}

void reference(const KernelContext& c) {
  const auto& o = c.as<ConvOptions>();
  ConvGeometry g = conv_geometry(c.op, c.input(0).shape(), c.input(1).shape(), o.window);
  dispatch_floating(c.input(0).dtype(), c.op, [&](auto element) {
    using T = decltype(element);
    const T *x = c.input(0).as<T>(), *kernel = c.input(1).as<T>();
    const T* bias = o.bias ? c.input(2).as<T>() : nullptr;
    T* y = c.output().as<T>();
    for (std::int64_t n = 0; n < g.batch; ++n)
      for (std::int64_t oh = 0; oh < g.rows.out; ++oh)
        for (std::int64_t ow = 0; ow < g.columns.out; ++ow)
          for (std::int64_t oc = 0; oc < g.out_channels; ++oc) {
            double sum = dot(g, x, kernel, n, oh, ow, oc);
            if (bias) sum += load(bias[oc]);
            if (o.activation == Activation::relu) sum = functor::Relu::apply<StdMath>(sum);
            *y++ = store<T>(sum);
          }
  });
}

double flops(const Node& node) {
  return conv_geometry(node.op().name, node.input(0).shape(), node.input(1).shape(),
                       node.as<ConvOptions>().window)
      .flops();
}

}  // namespace

const OpDef conv2d_op{
    .name = "conv2d", .shape = shape, .gradient = gradient, .reference = reference, .flops = flops};

Tensor conv2d(Tensor x, Tensor kernel, Conv2dOptions options) {
  return apply1(conv2d_op, {x, kernel}, ConvOptions{.window = options});
}

}  // namespace belfry
