// A normalised batch again, from its statistics.

#include "belfry/framework/backend/cuda/kernels.h"
#include "belfry/framework/backend/cuda/kernels/normalization/batch_norm.h"
#include "belfry/framework/ops/defs_nn.h"

namespace belfry::cuda {
namespace {

template <int V, class T>
std::unique_ptr<Kernel> kernel_for(const BatchNormRecomputeOptions& o, std::int64_t rows,
                                   std::int64_t channels) {
  using C = compute_type<T>;
  ColumnTiles tiles = map_tiles(rows, channels, V);
  auto run = [=](const KernelArguments& a, Stream& stream) {
    auto channel = [&](std::size_t i) { return a.input<C>(i); };
    Normalize<T> normalize{a.input<T>(0),
                           o.residual ? a.input<T>(5) : nullptr,
                           channel(1),
                           channel(2),
                           channel(3),
                           channel(4),
                           a.output<T>(0),
                           /*mask=*/nullptr,
                           channels,
                           o.activation == Activation::relu};
    launch(stream, {tiles.blocks(), block_threads}, map_columns<V, Normalize<T>>, normalize, tiles);
  };
  return make_kernel(run);
}

std::unique_ptr<Kernel> make(const Node& node, const Gpu&, const KernelOptions&) {
  const auto& options = node.as<BatchNormRecomputeOptions>();
  std::int64_t channels = node.input(1).shape()[0];
  std::int64_t rows = node.output().shape.elements() / channels;
  return dispatch_floating(node.output().dtype, node.op().name, [&](auto t) {
    using T = decltype(t);
    std::unique_ptr<Kernel> kernel;
    with_columns_at_once<T>(channels,
                            [&](auto v) { kernel = kernel_for<v(), T>(options, rows, channels); });
    return kernel;
  });
}

const KernelRegistration registration(batch_norm_recompute_op, make);

}  // namespace
}  // namespace belfry::cuda
