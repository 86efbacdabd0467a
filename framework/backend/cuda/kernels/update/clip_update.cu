#include "belfry/framework/backend/cuda/kernels/update/update.h"
#include "belfry/framework/ops/update/clip_update.h"

namespace belfry::cuda {
namespace {

template <class T>
__global__ void clip(Batch<1> batch, ClipUpdateOptions options, const bool* condition) {
  if (!holds(condition)) return;
  Chunk chunk = chunk_of<T>(batch);
  T* variable = static_cast<T*>(batch.tensors[chunk.group][0]);
  auto rule = update::Clip<compute_type<T>>::make(options);
  for_each_pack<T>(chunk, [&](auto n, std::int64_t i) {
    constexpr int N = decltype(n)::value;
    auto pack = load_pack<N>(static_cast<const T*>(variable) + i);
    for (int k = 0; k < N; ++k)
      pack.values[k] = from_compute<T>(rule.apply(to_compute(pack.values[k])));
    store_pack(variable + i, pack);
  });
}

std::unique_ptr<Kernel> make(const Node& node, const Gpu&, const KernelOptions&) {
  ClipLayout layout(node);
  std::vector<std::array<int, 1>> inputs;
  for (int v = 0; v < layout.variables; ++v) inputs.push_back({layout.variable(v)});
  auto run = [options = node.as<ClipUpdateOptions>()](auto t, const auto& groups,
                                                      const bool* condition,
                                                      const KernelArguments& a, Stream& stream) {
    using T = decltype(t);
    for_each_batch<T>(groups, a, [&](const Batch<1>& batch) {
      launch(stream, {.blocks = batch.blocks, .threads = threads_of_update}, clip<T>, batch,
             options, condition);
    });
  };
  return make_mixed_kernel(node, inputs, layout.condition, run);
}

const KernelRegistration registration(clip_update_op, make);

}  // namespace
}  // namespace belfry::cuda
