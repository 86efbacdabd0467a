#include "belfry/framework/layers/convolutional.h"
#include "belfry/framework/layers/layer_support.h"

namespace belfry {

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

}  // namespace belfry
