#include "belfry/framework/layers/convolutional.h"
#include "belfry/framework/layers/layer_support.h"

namespace belfry {

Tensor conv2d(const Scope& s, Tensor x, Conv2dLayerOptions o) {
  return layers::convolution(
      s, "conv2d", x, o, o.kernel.array(), layers::Direction::forward, [&](const Tensor& kernel) {
        return conv2d(
            x, kernel,
            {.stride = o.stride, .dilation = o.dilation, .groups = o.groups, .padding = o.padding});
      });
}

}  // namespace belfry
