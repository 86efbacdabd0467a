#include "belfry/framework/layers/convolutional.h"
#include "belfry/framework/layers/layer_support.h"

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

}  // namespace belfry
