#include "belfry/framework/ops/convolution.h"

namespace belfry {

const OpDef conv2d_op{.name = "conv2d",
                      .shape = convolution::shape,
                      .gradient = convolution::gradient,
                      .reference = convolution::reference,
                      .flops = convolution_flops};

Tensor conv2d(Tensor x, Tensor kernel, Conv2dOptions options) {
  return convolve(x, kernel, options);
}

}  // namespace belfry
