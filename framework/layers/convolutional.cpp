#include "belfry/framework/layers/layer_support.h"
#include "belfry/framework/layers/layers.h"

namespace belfry {

Tensor conv1d(const Scope& s, Tensor x, Conv1dLayerOptions o) {
  return layers::convolution(
      s, "conv1d", x, o, std::array{o.kernel}, layers::Direction::forward,
      [&](const Tensor& kernel) {
        return conv1d(
            x, kernel,
            {.stride = o.stride, .dilation = o.dilation, .groups = o.groups, .padding = o.padding});
      });
}

Tensor conv2d(const Scope& s, Tensor x, Conv2dLayerOptions o) {
  return layers::convolution(
      s, "conv2d", x, o, o.kernel.array(), layers::Direction::forward, [&](const Tensor& kernel) {
        return conv2d(
            x, kernel,
            {.stride = o.stride, .dilation = o.dilation, .groups = o.groups, .padding = o.padding});
      });
}

Tensor conv3d(const Scope& s, Tensor x, Conv3dLayerOptions o) {
  return layers::convolution(
      s, "conv3d", x, o, o.kernel.array(), layers::Direction::forward, [&](const Tensor& kernel) {
        return conv3d(
            x, kernel,
            {.stride = o.stride, .dilation = o.dilation, .groups = o.groups, .padding = o.padding});
      });
}

Tensor depthwise_conv2d(const Scope& s, Tensor x, DepthwiseConv2dLayerOptions o) {
  layers::require_at(s, o.multiplier >= 1, "depthwise_conv2d: multiplier must be at least 1, got ",
                     o.multiplier);
  layers::require_image(s, "depthwise_conv2d", x, o.kernel.array());
  Graph::PlacementGuard guard(s.graph(), s.placement());
  Tensor kernel = s.variable(
      "kernel",
      {.shape = layers::shape_at(s, {o.kernel.rows, o.kernel.columns, x.size(3), o.multiplier}),
       .dtype = layers::parameter_dtype(s, x),
       .initializer = o.kernel_initializer});
  Tensor y = depthwise_conv2d(x, kernel,
                              {.stride = o.stride, .dilation = o.dilation, .padding = o.padding});
  return o.use_bias ? layers::add_bias(s, y, o.bias_initializer) : y;
}

Tensor conv1d_transpose(const Scope& s, Tensor x, Conv1dTransposeLayerOptions o) {
  return layers::convolution(
      s, "conv1d_transpose", x, o, std::array{o.kernel}, layers::Direction::transposed,
      [&](const Tensor& kernel) {
        return conv1d_transpose(
            x, kernel,
            {.stride = o.stride, .dilation = o.dilation, .groups = o.groups, .padding = o.padding},
            o.output_size);
      });
}

Tensor conv2d_transpose(const Scope& s, Tensor x, Conv2dTransposeLayerOptions o) {
  return layers::convolution(
      s, "conv2d_transpose", x, o, o.kernel.array(), layers::Direction::transposed,
      [&](const Tensor& kernel) {
        return conv2d_transpose(
            x, kernel,
            {.stride = o.stride, .dilation = o.dilation, .groups = o.groups, .padding = o.padding},
            o.output_size);
      });
}

Tensor conv3d_transpose(const Scope& s, Tensor x, Conv3dTransposeLayerOptions o) {
  return layers::convolution(
      s, "conv3d_transpose", x, o, o.kernel.array(), layers::Direction::transposed,
      [&](const Tensor& kernel) {
        return conv3d_transpose(
            x, kernel,
            {.stride = o.stride, .dilation = o.dilation, .groups = o.groups, .padding = o.padding},
            o.output_size);
      });
}

}  // namespace belfry
