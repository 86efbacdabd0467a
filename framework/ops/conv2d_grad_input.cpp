#include "belfry/framework/ops/convolution.h"

namespace belfry {

const OpDef conv2d_grad_input_op{.name = "conv2d_grad_input",
                                 .shape = convolution_grad_input::shape,
                                 .gradient = convolution_grad_input::gradient,
                                 .reference = convolution_grad_input::reference,
                                 .in_place = convolution_grad_input::in_place,
                                 .flops = convolution_flops};

Tensor conv2d_grad_input(Tensor dy, Tensor kernel, const ConvGradInputOptions& options) {
  return apply1(conv2d_grad_input_op, {dy, kernel}, options);
}

}  // namespace belfry
