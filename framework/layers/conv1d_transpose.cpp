#include "belfry/framework/layers/convolutional.h"
#include "belfry/framework/layers/layer_support.h"

namespace belfry {

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

}  // namespace belfry
