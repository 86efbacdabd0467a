#include "belfry/framework/ops/convolution/convolution.h"

namespace belfry {
namespace {

ConvGeometry geometry(std::string_view op, const Shape& dy, const Shape& kernel,
                      const ConvGradInputOptions& o) {
  int axes = o.window.axes();
  require(dy.rank() == axes + 2, op, ": output gradient must be ", axes_text("n", "o", axes, "out"),
          ", got ", dy);
  require(kernel.rank() == axes + 2, op, ": kernel must be ",
          axes_text("", "k", axes, "in / groups, out"), ", got ", kernel);
  std::vector<std::int64_t> sizes{dy[0]};
  sizes.insert(sizes.end(), o.input_size.begin(), o.input_size.end());
  sizes.push_back(kernel[axes] * o.window.groups);
  Shape x(sizes);
  ConvGeometry g = conv_geometry(op, x, kernel, o.window);
  require(g.output() == dy, op, ": output gradient must be ", g.output(), " for the input ", x,
          ", got ", dy);
  return g;
}

/// The sum that makes one element of dx.
template <class T>
double dot(const ConvGeometry& g, const T* dy, const T* kernel, const Position& in,
           std::int64_t ic) {
  std::int64_t first_channel = ic / g.in_per_group() * g.out_per_group();
  double sum = 0;
  for_each_position(window_extents(g), [&](const Position& tap) {
    Position out = g.output_at(in, tap);
    if (out.d < 0 || out.h < 0 || out.w < 0) return;
    const T* pixel = dy + g.output_offset(out) + first_channel;
    const T* weights =
        kernel + g.tap_offset(tap) + ic % g.in_per_group() * g.out_channels + first_channel;
    for (std::int64_t oc = 0; oc < g.out_per_group(); ++oc)
      sum += load(pixel[oc]) * load(weights[oc]);
  });
  return sum;
}

std::vector<TensorType> shape(const ShapeContext& c) {
  const TensorType &dy = c.inputs[0], &kernel = c.inputs[1];
  require_floating(c.op, "output gradient", dy);
  require_same_dtype(c.op, "output gradient", dy, "kernel", kernel);
  TensorType dx{geometry(c.op, dy.shape, kernel.shape, c.as<ConvGradInputOptions>()).input(),
                dy.dtype};
  if (c.inputs.size() > 2) require_type(c.op, "addend", c.inputs[2], dx);
  return {dx};
}

std::vector<int> in_place(const Node& node) {
  return has_addend(node) ? std::vector<int>{2} : std::vector<int>();
}

std::vector<Tensor> gradient(const GradContext& c) {
  const auto& o = c.as<ConvGradInputOptions>();
  Tensor dy = c.input(0), kernel = c.input(1), ddx = c.dy();
  return {convolve(ddx, kernel, o.window),
          convolve_grad_kernel(ddx, dy, o.window, kernel_size(kernel))};
}

void reference(const KernelContext& c) {
  ConvGeometry g =
      geometry(c.op, c.input(0).shape(), c.input(1).shape(), c.as<ConvGradInputOptions>());
  dispatch_floating(c.input(0).dtype(), c.op, [&](auto element) {
    using T = decltype(element);
    const T *dy = c.input(0).as<T>(), *kernel = c.input(1).as<T>();
    const T* addend = c.inputs.size() > 2 ? c.input(2).as<T>() : nullptr;
    T* dx = c.output().as<T>();
    for_each_position(input_extents(g), [&](const Position& in) {
      for (std::int64_t ic = 0; ic < g.in_channels; ++ic)
        *dx++ = store<T>(dot(g, dy, kernel, in, ic) + (addend ? load(*addend++) : 0));
    });
  });
}

}  // namespace

const OpDef conv2d_grad_input_op{.name = "conv2d_grad_input",
                                 .shape = shape,
                                 .gradient = gradient,
                                 .reference = reference,
                                 .in_place = in_place,
                                 .autocast = Autocast::low,
                                 .flops = convolution_flops};

Tensor conv2d_grad_input(Tensor dy, Tensor kernel, const ConvGradInputOptions& options) {
  return apply1(conv2d_grad_input_op, {dy, kernel}, options);
}

const OpDef conv3d_grad_input_op{.name = "conv3d_grad_input",
                                 .shape = shape,
                                 .gradient = gradient,
                                 .reference = reference,
                                 .in_place = in_place,
                                 .autocast = Autocast::low,
                                 .flops = convolution_flops};

Tensor conv3d_grad_input(Tensor dy, Tensor kernel, const ConvGradInputOptions& options) {
  return apply1(conv3d_grad_input_op, {dy, kernel}, options);
}

}  // namespace belfry
