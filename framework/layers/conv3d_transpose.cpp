#include "belfry/framework/layers/convolutional.h"
#include "belfry/framework/layers/layer_support.h"

namespace belfry {

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
