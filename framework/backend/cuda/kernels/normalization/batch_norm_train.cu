// Batch normalisation: the moments of each channel, then the elements. A residual and ReLU cost no
// launch of their own.

#include "belfry/framework/backend/cuda/kernels.h"
#include "belfry/framework/backend/cuda/kernels/normalization/batch_norm.h"
#include "belfry/framework/ops/defs_nn.h"

namespace belfry::cuda {
namespace {

template <class C>
struct StoreStatistics {
  C *mean, *variance, *inverse;
  double epsilon;
  __device__ void operator()(std::int64_t channel, Moments<C> moments) const {
    mean[channel] = moments.mean;
    variance[channel] = moments.variance();
    inverse[channel] = inverse_deviation(moments.variance(), epsilon);
  }
};

template <int V, class T>
std::unique_ptr<Kernel> kernel_for(const BatchNormOptions& o, std::int64_t rows,
                                   std::int64_t channels) {
  using C = compute_type<T>;
  ColumnFold<MomentsFold, Moments<C>> fold(1, rows, channels, V);
  ColumnTiles tiles = map_tiles(rows, channels, V);
  auto run = [=](const KernelArguments& a, Stream& stream) {
    const auto *x = a.input<T>(0), *residual = o.residual ? a.input<T>(3) : nullptr;
    auto *mean = a.output<C>(1), *inverse = a.output<C>(3);
    fold.template enqueue<V>(stream, MatrixElements<C, T>{x, channels},
                             StoreStatistics<C>{mean, a.output<C>(2), inverse, o.epsilon},
                             a.workspace);
    launch(stream, {tiles.blocks(), block_threads}, map_columns<V, Normalize<T>>,
           Normalize<T>{x, residual, a.input<C>(1), a.input<C>(2), mean, inverse, a.output<T>(0),
                        o.mask ? a.output<std::uint8_t>(4) : nullptr, channels,
                        o.activation == Activation::relu},
           tiles);
  };
  return make_kernel(run, fold.workspace());
}

std::unique_ptr<Kernel> make(const Node& node, const Gpu&, const KernelOptions&) {
  const auto& options = node.as<BatchNormOptions>();
  std::int64_t channels = node.input(1).shape()[0];
  std::int64_t rows = node.output().shape.elements() / channels;
  if (options.mask && size_of(node.output().dtype) != 2) return nullptr;
  return dispatch_floating(node.output().dtype, node.op().name, [&](auto t) {
    using T = decltype(t);
    std::unique_ptr<Kernel> kernel;
    with_columns_at_once<T>(channels,
                            [&](auto v) { kernel = kernel_for<v(), T>(options, rows, channels); });
    return kernel;
  });
}

const KernelRegistration registration(batch_norm_train_op, make);

}  // namespace
}  // namespace belfry::cuda
