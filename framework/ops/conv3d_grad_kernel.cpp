#include "belfry/framework/ops/convolution.h"

namespace belfry {

const OpDef conv3d_grad_kernel_op{.name = "conv3d_grad_kernel",
                                  .shape = convolution_grad_kernel::shape,
                                  .gradient = convolution_grad_kernel::gradient,
                                  .reference = convolution_grad_kernel::reference,
                                  .flops = convolution_flops};

Tensor conv3d_grad_kernel(Tensor x, Tensor dy, const ConvGradKernelOptions& options) {
  return apply1(conv3d_grad_kernel_op, {x, dy}, options);
}

}  // namespace belfry
