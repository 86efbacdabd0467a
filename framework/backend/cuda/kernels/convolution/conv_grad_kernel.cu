// Gradients of convolutions with respect to the kernel as products: [kd, kh, kw, in] x output
// places, times dy.

#include "belfry/framework/backend/cuda/kernels/convolution/convolution.h"

namespace belfry::cuda {
namespace {

template <class T>
std::unique_ptr<Kernel> convolution(const ConvGeometry& g) {
  ProductShape shape{.batches = g.groups,
                     .m = g.taps() * g.in_per_group(),
                     .n = g.out_per_group(),
                     .k = g.out_positions()};
  return make_product<T>(shape, [=](const KernelArguments& a) {
    return std::tuple(
        WindowsOperand<T, true>{g, a.input<T>(0)},
        ColumnsOperand<T>{g.out_channels, g.out_per_group(), a.input<T>(1)},
        ProductOutput<T>{
            .y = a.output<T>(0), .batch_stride = g.out_per_group(), .row_stride = g.out_channels});
  });
}

std::unique_ptr<Kernel> make(const Node& node, const Gpu&, const KernelOptions&) {
  ConvGeometry g = conv_geometry(node);
  return dispatch_floating(node.output().dtype, node.op().name,
                           [&](auto t) { return convolution<decltype(t)>(g); });
}

const KernelRegistration registrations[] = {{conv2d_grad_kernel_op, make},
                                            {conv3d_grad_kernel_op, make}};

}  // namespace
}  // namespace belfry::cuda
