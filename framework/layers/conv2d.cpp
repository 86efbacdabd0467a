#include "belfry/framework/layers/convolutional.h"
#include "belfry/framework/layers/layer_support.h"

namespace belfry {

Tensor conv2d(const Scope& s, Tensor x, Conv2dLayerOptions o) {
  layers::require_convolution(s, "conv2d", x, o.kernel, o.groups, o.filters);
  Graph::PlacementGuard guard(s.graph(), s.placement());
  Tensor kernel = s.variable(
      "kernel", {.shape = {o.kernel.rows, o.kernel.columns, x.size(3) / o.groups, o.filters},
                 .dtype = layers::parameter_dtype(s, x),
                 .initializer = o.kernel_initializer});
  Tensor y = conv2d(x, kernel,
                    {.stride = o.stride.array(),
                     .dilation = o.dilation.array(),
                     .groups = o.groups,
                     .padding = o.padding});
  return o.use_bias ? layers::add_bias(s, y, o.bias_initializer) : y;
}

}  // namespace belfry
