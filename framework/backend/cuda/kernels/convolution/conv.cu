// Convolutions of every floating type as products: output places x [kd, kh, kw, in], times the
// kernel.

#include "belfry/framework/backend/cuda/kernels/convolution/convolution.h"

namespace belfry::cuda {
namespace {

template <class T>
std::unique_ptr<Kernel> convolution(const ConvGeometry& g, const ConvOptions& o) {
  ProductShape shape{.batches = g.groups,
                     .m = g.out_positions(),
                     .n = g.out_per_group(),
                     .k = g.taps() * g.in_per_group()};
  ProductOutput<T> output{.batch_stride = g.out_per_group(),
                          .row_stride = g.out_channels,
                          .bias_stride = g.out_per_group(),
                          .relu = o.activation == Activation::relu};
  bool bias = o.bias;
  return make_product<T>(shape, [=](const KernelArguments& a) {
    ProductOutput<T> out = output;
    out.y = a.output<T>(0);
    if (bias) out.bias = a.input<T>(2);
    return std::tuple(WindowsOperand<T, false>{g, a.input<T>(0)},
                      ColumnsOperand<T>{g.out_channels, g.out_per_group(), a.input<T>(1)}, out);
  });
}

std::unique_ptr<Kernel> make(const Node& node, const Gpu&, const KernelOptions&) {
  const auto& o = node.as<ConvOptions>();
  ConvGeometry g = conv_geometry(node);
  return dispatch_floating(node.output().dtype, node.op().name,
                           [&](auto t) { return convolution<decltype(t)>(g, o); });
}

const KernelRegistration registrations[] = {{conv2d_op, make}, {conv3d_op, make}};

}  // namespace
}  // namespace belfry::cuda
