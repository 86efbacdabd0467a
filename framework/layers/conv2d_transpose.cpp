#include "belfry/framework/layers/convolutional.h"
#include "belfry/framework/layers/layer_support.h"

namespace belfry {

Tensor conv2d_transpose(const Scope& s, Tensor x, Conv2dTransposeLayerOptions o) {
  layers::require_convolution(s, "conv2d_transpose", x, o.kernel, o.groups, o.filters);
  Graph::PlacementGuard guard(s.graph(), s.placement());
  Tensor kernel = s.variable(
      "kernel", {.shape = {o.kernel.rows, o.kernel.columns, o.filters / o.groups, x.size(3)},
                 .dtype = layers::parameter_dtype(s, x),
                 .initializer = o.kernel_initializer});
  Tensor y = conv2d_transpose(x, kernel,
                              {.stride = o.stride.array(),
                               .dilation = o.dilation.array(),
                               .groups = o.groups,
                               .padding = o.padding},
                              o.output_size.array());
  return o.use_bias ? layers::add_bias(s, y, o.bias_initializer) : y;
}

}  // namespace belfry
