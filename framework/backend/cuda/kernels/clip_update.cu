#include "belfry/framework/backend/cuda/kernels/update.h"
#include "belfry/framework/ops/clip_update.h"

namespace belfry::cuda {
namespace {

using Groups = std::vector<TensorGroup<1>>;

template <class T>
__global__ void clip(Batch<1> batch, ClipUpdateOptions options, const bool* condition) {
  if (!holds(condition)) return;
  Share share = share_of<T>(batch);
  T* variable = static_cast<T*>(batch.tensors[share.group][0]);
  auto rule = update::Clip<compute_type<T>>::make(options);
  for_each_pack<T>(share, [&](auto n, std::int64_t i) {
    constexpr int N = decltype(n)::value;
    auto pack = load_pack<N>(static_cast<const T*>(variable) + i);
    for (int k = 0; k < N; ++k)
      pack.values[k] = from_compute<T>(rule.apply(to_compute(pack.values[k])));
    store_pack(variable + i, pack);
  });
}

Groups groups_of_type(const Node& node, DType dtype) {
  ClipLayout layout(node);
  Groups groups;
  for (int v = 0; v < layout.variables; ++v) {
    const TensorType& variable = node.input(layout.variable(v)).type();
    if (variable.dtype == dtype)
      groups.push_back({.inputs = {layout.variable(v)},
                        .elements = variable.shape.elements(),
                        .rank = variable.shape.rank()});
  }
  return groups;
}

template <class T>
void run(const Groups& groups, const ClipUpdateOptions& options, const bool* condition,
         const KernelArguments& a, Stream& stream) {
  for_each_batch<T>(groups, a, [&](const Batch<1>& batch) {
    launch(stream, {.blocks = batch.blocks, .threads = threads_of_update}, clip<T>, batch, options,
           condition);
  });
}

std::unique_ptr<Kernel> make(const Node& node, const Gpu&, const KernelOptions&) {
  bool conditional = ClipLayout(node).condition;
  auto of = [&](DType dtype) { return groups_of_type(node, dtype); };
  return make_kernel([=, options = node.as<ClipUpdateOptions>(), f64 = of(DType::f64),
                      f32 = of(DType::f32), bf16 = of(DType::bf16),
                      f16 = of(DType::f16)](const KernelArguments& a, Stream& stream) {
    auto* condition = conditional ? static_cast<const bool*>(a.inputs[0]) : nullptr;
    run<double>(f64, options, condition, a, stream);
    run<float>(f32, options, condition, a, stream);
    run<BFloat16>(bf16, options, condition, a, stream);
    run<Float16>(f16, options, condition, a, stream);
  });
}

const KernelRegistration registration(clip_update_op, make);

}  // namespace
}  // namespace belfry::cuda
