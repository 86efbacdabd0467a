// Gradients of convolutions with respect to the input as products: input places x [kd, kh, kw,
// out], times the transposed kernel.

#include "belfry/framework/backend/cuda/kernels/convolution/convolution.h"

namespace belfry::cuda {
namespace {

template <class T>
std::unique_ptr<Kernel> convolution(const ConvGeometry& g) {
  ProductShape shape{.batches = g.groups,
                     .m = g.in_positions(),
                     .n = g.in_per_group(),
                     .k = g.taps() * g.out_per_group()};
  return make_product<T>(shape, [=](const KernelArguments& a) {
    return std::tuple(SeenByOperand<T>{g, a.input<T>(0)},
                      TransposedKernelOperand<T>{g, a.input<T>(1)},
                      ProductOutput<T>{.y = a.output<T>(0),
                                       .batch_stride = g.in_per_group(),
                                       .row_stride = g.in_channels,
                                       .addend = a.inputs.size() > 2 ? a.input<T>(2) : nullptr});
  });
}

std::unique_ptr<Kernel> make(const Node& node, const Gpu&, const KernelOptions&) {
  ConvGeometry g = conv_geometry(node);
  return dispatch_floating(node.output().dtype, node.op().name,
                           [&](auto t) { return convolution<decltype(t)>(g); });
}

const KernelRegistration registrations[] = {{conv2d_grad_input_op, make},
                                            {conv3d_grad_input_op, make}};

}  // namespace
}  // namespace belfry::cuda
