#include "belfry/framework/ops/convolution/convolution.h"

#include "belfry/framework/ops/convolution/conv_geometry.h"
#include "belfry/framework/ops/convolution/one_row.h"
#include "belfry/framework/ops/elementwise/functors.h"
#include "belfry/framework/ops/math.h"
#include "belfry/framework/ops/movement/shape_ops.h"
#include "belfry/framework/ops/nn.h"
#include "belfry/framework/ops/nn_checks.h"

namespace belfry {
namespace {

/// The sum that makes one output element, without bias.
template <class T>
double dot(const ConvGeometry& g, const T* x, const T* kernel, const Position& out,
           std::int64_t oc) {
  std::int64_t first_channel = oc / g.out_per_group() * g.in_per_group();
  double sum = 0;
  for_each_position(window_extents(g), [&](const Position& tap) {
    Position in = g.input_at(out, tap);
    if (!g.inside(in)) return;
    const T* pixel = x + g.input_offset(in) + first_channel;
    const T* weights = kernel + g.tap_offset(tap) + oc;
    for (std::int64_t ic = 0; ic < g.in_per_group(); ++ic)
      sum += load(pixel[ic]) * load(weights[ic * g.out_channels]);
  });
  return sum;
}

std::vector<TensorType> shape(const ShapeContext& c) {
  const auto& o = c.as<ConvOptions>();
  const TensorType &x = c.inputs[0], &kernel = c.inputs[1];
  ensure(c.inputs.size() == (o.bias ? 3 : 2), c.op, ": ", c.inputs.size(), " inputs");
  require_floating(c.op, "input", x);
  require_same_dtype(c.op, "input", x, "kernel", kernel);
  int axes = o.window.axes();
  require_input(c.op, x, axes);
  require_rank(c.op, "kernel", kernel, axes + 2, axes_text("", "k", axes, "in / groups, out"));
  ConvGeometry g = conv_geometry(c.op, x.shape, kernel.shape, o.window);
  if (o.bias) require_type(c.op, "bias", c.inputs[2], {{g.out_channels}, x.dtype});
  return {{g.output(), x.dtype}};
}

std::vector<Tensor> gradient(const GradContext& c) {
  const auto& o = c.as<ConvOptions>();
  Tensor x = c.input(0), kernel = c.input(1), dy = c.dy();
  if (o.activation == Activation::relu) dy = relu_grad(dy, c.output());
  // The gradients that read x come first, so that its memory is free for x's own.
  Tensor dbias, dkernel = convolve_grad_kernel(x, dy, o.window, kernel_size(kernel));
  if (o.bias) {
    std::vector<int> axes;
    for (int axis = 0; axis < dy.rank() - 1; ++axis) axes.push_back(axis);
    dbias = sum(dy, {.axes = axes});
  }
  std::vector<Tensor> grads = {convolve_grad_input(dy, kernel, o.window, image_size(x)), dkernel};
  if (o.bias) grads.push_back(dbias);
  return grads;
}

void reference(const KernelContext& c) {
  const auto& o = c.as<ConvOptions>();
  ConvGeometry g = conv_geometry(c.op, c.input(0).shape(), c.input(1).shape(), o.window);
  dispatch_floating(c.input(0).dtype(), c.op, [&](auto element) {
    using T = decltype(element);
    const T *x = c.input(0).as<T>(), *kernel = c.input(1).as<T>();
    const T* bias = o.bias ? c.input(2).as<T>() : nullptr;
    T* y = c.output().as<T>();
    for_each_position(output_extents(g), [&](const Position& out) {
      for (std::int64_t oc = 0; oc < g.out_channels; ++oc) {
        double sum = dot(g, x, kernel, out, oc);
        if (bias) sum += load(bias[oc]);
        if (o.activation == Activation::relu) sum = functor::Relu::apply<StdMath>(sum);
        *y++ = store<T>(sum);
      }
    });
  });
}

}  // namespace

double convolution_flops(const Node& node) { return conv_geometry(node).flops(); }

Tensor convolve(Tensor x, Tensor kernel, const ConvWindow& window) {
  return apply1(window.axes() == 3 ? conv3d_op : conv2d_op, {x, kernel},
                ConvOptions{.window = window});
}

Tensor convolve_grad_input(Tensor dy, Tensor kernel, const ConvWindow& window,
                           std::vector<std::int64_t> input_size) {
  return apply1(window.axes() == 3 ? conv3d_grad_input_op : conv2d_grad_input_op, {dy, kernel},
                ConvGradInputOptions{window, std::move(input_size)});
}

Tensor convolve_grad_kernel(Tensor x, Tensor dy, const ConvWindow& window,
                            std::vector<std::int64_t> kernel_size) {
  return apply1(window.axes() == 3 ? conv3d_grad_kernel_op : conv2d_grad_kernel_op, {x, dy},
                ConvGradKernelOptions{window, std::move(kernel_size)});
}

std::vector<std::int64_t> image_size(const Tensor& x) {
  return {x.shape().begin() + 1, x.shape().end() - 1};
}

std::vector<std::int64_t> kernel_size(const Tensor& kernel) {
  return {kernel.shape().begin(), kernel.shape().end() - 2};
}

const OpDef conv2d_op{.name = "conv2d",
                      .shape = shape,
                      .gradient = gradient,
                      .reference = reference,
                      .autocast = Autocast::low,
                      .flops = convolution_flops};

Tensor conv2d(Tensor x, Tensor kernel, Conv2dOptions options) {
  return convolve(x, kernel, options);
}

const OpDef conv3d_op{.name = "conv3d",
                      .shape = shape,
                      .gradient = gradient,
                      .reference = reference,
                      .autocast = Autocast::low,
                      .flops = convolution_flops};

Tensor conv3d(Tensor x, Tensor kernel, Conv3dOptions options) {
  return convolve(x, kernel, options);
}

Tensor conv1d(Tensor x, Tensor kernel, Conv1dOptions options) {
  constexpr std::string_view name = "conv1d";
  require_defined(name, {x, kernel});
  Conv2dOptions of_image;
  check_at(x, [&] {
    require_input(name, x.type(), 1);
    require_rank(name, "kernel", kernel.type(), 3, "[kw, in / groups, out]");
    slide(name, x.shape().sizes().subspan(1, 1),
          {.size = kernel.shape().sizes().first(1),
           .stride = {&options.stride, 1},
           .dilation = {&options.dilation, 1},
           .padding = options.padding});
    of_image = image_options(name, options);
    conv_geometry(name, {x.size(0), 1, x.size(1), x.size(2)},
                  {1, kernel.size(0), kernel.size(1), kernel.size(2)}, of_image);
  });
  return as_signal(conv2d(as_image(x), as_image_kernel(kernel), of_image));
}

Tensor depthwise_conv2d(Tensor x, Tensor kernel, Conv2dOptions options) {
  constexpr std::string_view name = "depthwise_conv2d";
  require_defined(name, {x, kernel});
  check_at(x, [&] {
    require_rank(name, "input", x.type(), 4, "[n, h, w, c]");
    require_rank(name, "kernel", kernel.type(), 4, "[kh, kw, c, multiplier]");
    require(x.size(3) == kernel.size(2), name, ": input has ", x.size(3),
            " channels but the kernel expects ", kernel.size(2));
  });
  std::int64_t channels = x.size(3);
  options.groups = channels;
  const Shape& k = kernel.shape();
  return conv2d(x, reshape(kernel, Shape{k[0], k[1], 1, channels * k[3]}), options);
}

}  // namespace belfry
