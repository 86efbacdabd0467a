#include "belfry/framework/ops/convolution.h"

namespace belfry {

const OpDef conv3d_op{.name = "conv3d",
                      .shape = convolution::shape,
                      .gradient = convolution::gradient,
                      .reference = convolution::reference,
                      .flops = convolution_flops};

Tensor conv3d(Tensor x, Tensor kernel, Conv3dOptions options) {
  return convolve(x, kernel, options);
}

}  // namespace belfry
