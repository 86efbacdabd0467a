#include "belfry/framework/backend/cuda/kernels/update.h"

namespace belfry::cuda {
namespace {

/// variable, average, count
using AverageBatch = Batch<3>;

template <class T>
__global__ void average(AverageBatch batch, MovingAverageUpdateOptions options,
                        const bool* condition) {
  using C = compute_type<T>;
  if (!holds(condition)) return;
  Share share = share_of<T>(batch);
  void* const* tensors = batch.tensors[share.group];
  auto rule = update::MovingAverage<C>::make(options, *static_cast<std::int64_t*>(tensors[2]));
  for_each_pack<T>(share, [&](auto n, std::int64_t i) {
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
  auto group = static_cast<int>(threadIdx.x);
  if (group < batch.groups && holds(condition))
    ++*static_cast<std::int64_t*>(batch.tensors[group][2]);
}

using Groups = std::vector<TensorGroup<3>>;

Groups groups_of_type(const Node& node, DType dtype) {
  AverageLayout layout{node.inputs().size()};
  Groups groups;
  for (int g = 0; g < layout.groups(); ++g) {
    const TensorType& variable = node.input(layout.variable(g)).type();
    if (variable.dtype == dtype)
      groups.push_back({.inputs = {layout.variable(g), layout.average(g), layout.count(g)},
                        .elements = variable.shape.elements(),
                        .rank = variable.shape.rank()});
  }
  return groups;
}

template <class T>
void run(const Groups& groups, const MovingAverageUpdateOptions& options, const bool* condition,
         const KernelArguments& a, Stream& stream) {
  for_each_batch<T>(groups, a, [&](const AverageBatch& batch) {
    launch(stream, {.blocks = batch.blocks, .threads = threads_of_update}, average<T>, batch,
           options, condition);
    launch(stream, {.blocks = 1, .threads = AverageBatch::most}, count_updates, batch, condition);
  });
}

std::unique_ptr<Kernel> make(const Node& node, const Gpu&, const KernelOptions&) {
  bool conditional = AverageLayout{node.inputs().size()}.condition();
  auto of = [&](DType dtype) { return groups_of_type(node, dtype); };
  return make_kernel([=, options = node.as<MovingAverageUpdateOptions>(), f64 = of(DType::f64),
                      f32 = of(DType::f32), bf16 = of(DType::bf16),
                      f16 = of(DType::f16)](const KernelArguments& a, Stream& stream) {
    auto* condition = conditional ? static_cast<const bool*>(a.inputs[0]) : nullptr;
    run<double>(f64, options, condition, a, stream);
    run<float>(f32, options, condition, a, stream);
    run<BFloat16>(bf16, options, condition, a, stream);
    run<Float16>(f16, options, condition, a, stream);
  });
}

const KernelRegistration registration(moving_average_update_op, make);

}  // namespace
}  // namespace belfry::cuda
