#include "belfry/framework/backend/cuda/kernels/update/update.h"

namespace belfry::cuda {
namespace {

/// variable, average, count
using AverageBatch = Batch<3>;

template <class T>
__global__ void average(AverageBatch batch, MovingAverageUpdateOptions options,
                        const bool* condition) {
  using C = compute_type<T>;
  if (!holds(condition)) return;
  Chunk chunk = chunk_of<T>(batch);
  void* const* tensors = batch.tensors[chunk.group];
  auto rule = update::MovingAverage<C>::make(options, *static_cast<std::int64_t*>(tensors[2]));
  for_each_pack<T>(chunk, [&](auto n, std::int64_t i) {
    constexpr int N = decltype(n)::value;
    auto variable = load_pack<N>(static_cast<const T*>(tensors[0]) + i);
    auto mean = load_pack<N>(static_cast<const T*>(tensors[1]) + i);
    for (int k = 0; k < N; ++k) {
      C value = to_compute(mean.values[k]);
      rule.apply(value, to_compute(variable.values[k]));
      mean.values[k] = from_compute<T>(value);
    }
    store_pack(static_cast<T*>(tensors[1]) + i, mean);
  });
}

/// Behind average(), which reads the counts.
__global__ void count_updates(AverageBatch batch, const bool* condition) {
  int group = threadIdx.x;
  if (group < batch.groups && holds(condition))
    ++*static_cast<std::int64_t*>(batch.tensors[group][2]);
}

std::unique_ptr<Kernel> make(const Node& node, const Gpu&, const KernelOptions&) {
  AverageLayout layout{node.inputs().size()};
  std::vector<std::array<int, 3>> inputs;
  for (int g = 0; g < layout.groups(); ++g)
    inputs.push_back({layout.variable(g), layout.average(g), layout.count(g)});
  auto run = [options = node.as<MovingAverageUpdateOptions>()](
                 auto t, const auto& groups, const bool* condition, const KernelArguments& a,
                 Stream& stream) {
    using T = decltype(t);
    for_each_batch<T>(groups, a, [&](const AverageBatch& batch) {
      launch(stream, {.blocks = batch.blocks, .threads = threads_of_update}, average<T>, batch,
             options, condition);
      launch(stream, {.blocks = 1, .threads = AverageBatch::most}, count_updates, batch, condition);
    });
  };
  return make_mixed_kernel(node, inputs, layout.condition(), run);
}

const KernelRegistration registration(moving_average_update_op, make);

}  // namespace
}  // namespace belfry::cuda
