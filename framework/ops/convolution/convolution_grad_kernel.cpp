#include "belfry/framework/ops/convolution/convolution.h"

namespace belfry {
namespace {

ConvGeometry geometry(std::string_view op, const Shape& x, const Shape& dy,
                      const ConvGradKernelOptions& o) {
  int axes = o.window.axes();
  require(x.rank() == axes + 2, op, ": input must be ", axes_text("n", "", axes, "in"), ", got ",
          x);
  require(dy.rank() == axes + 2, op, ": output gradient must be ", axes_text("n", "o", axes, "out"),
          ", got ", dy);
  std::int64_t in = x[axes + 1], groups = o.window.groups;
  require(groups >= 1 && in % groups == 0, op, ": ", in, " input channels cannot be divided into ",
          groups, " groups");
  std::vector<std::int64_t> sizes = o.kernel_size;
  sizes.insert(sizes.end(), {in / groups, dy[axes + 1]});
  ConvGeometry g = conv_geometry(op, x, Shape(sizes), o.window);
  require(g.output() == dy, op, ": output gradient must be ", g.output(), " for the input ", x,
          ", got ", dy);
  return g;
}

/// The sum over batch and places that makes one element of dkernel; ic counts within a group.
template <class T>
double dot(const ConvGeometry& g, const T* x, const T* dy, const Position& tap, std::int64_t ic,
           std::int64_t oc) {
  std::int64_t channel = oc / g.out_per_group() * g.in_per_group() + ic;
  double sum = 0;
  for_each_position(output_extents(g), [&](const Position& out) {
    Position in = g.input_at(out, tap);
    if (g.inside(in))
      sum += load(x[g.input_offset(in) + channel]) * load(dy[g.output_offset(out) + oc]);
  });
  return sum;
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
  return {convolve_grad_input(dy, ddkernel, o.window, image_size(x)),
          convolve(x, ddkernel, o.window)};
}

void reference(const KernelContext& c) {
  ConvGeometry g =
      geometry(c.op, c.input(0).shape(), c.input(1).shape(), c.as<ConvGradKernelOptions>());
  dispatch_floating(c.input(0).dtype(), c.op, [&](auto element) {
    using T = decltype(element);
    const T *x = c.input(0).as<T>(), *dy = c.input(1).as<T>();
    T* dkernel = c.output().as<T>();
    for_each_position(window_extents(g), [&](const Position& tap) {
      for (std::int64_t ic = 0; ic < g.in_per_group(); ++ic)
        for (std::int64_t oc = 0; oc < g.out_channels; ++oc)
          *dkernel++ = store<T>(dot(g, x, dy, tap, ic, oc));
    });
  });
}

}  // namespace

const OpDef conv2d_grad_kernel_op{.name = "conv2d_grad_kernel",
                                  .shape = shape,
                                  .gradient = gradient,
                                  .reference = reference,
                                  .flops = convolution_flops};

Tensor conv2d_grad_kernel(Tensor x, Tensor dy, const ConvGradKernelOptions& options) {
  return apply1(conv2d_grad_kernel_op, {x, dy}, options);
}

const OpDef conv3d_grad_kernel_op{.name = "conv3d_grad_kernel",
                                  .shape = shape,
                                  .gradient = gradient,
                                  .reference = reference,
                                  .flops = convolution_flops};

Tensor conv3d_grad_kernel(Tensor x, Tensor dy, const ConvGradKernelOptions& options) {
  return apply1(conv3d_grad_kernel_op, {x, dy}, options);
}

}  // namespace belfry
