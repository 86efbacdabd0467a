#include "belfry/framework/layers/convolutional.h"
#include "belfry/framework/layers/layer_support.h"

namespace belfry {

Tensor conv3d(const Scope& s, Tensor x, Conv3dLayerOptions o) {
  return layers::convolution(
      s, "conv3d", x, o, o.kernel.array(), layers::Direction::forward, [&](const Tensor& kernel) {
        return conv3d(
            x, kernel,
            {.stride = o.stride, .dilation = o.dilation, .groups = o.groups, .padding = o.padding});
      });
}

}  // namespace belfry
