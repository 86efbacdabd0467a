#include "belfry/framework/backend/cuda/kernels.h"
#include "belfry/framework/backend/cuda/kernels/elements.h"
#include "belfry/framework/ops/defs.h"
#include "belfry/framework/ops/movement/shape_ops.h"

namespace belfry::cuda {
namespace {

template <class T, class Index>
__global__ void one_hot(const Index* indices, T* y, std::int64_t depth, T on, T off,
                        std::int64_t count) {
  std::int64_t i = thread_number();
  if (i >= count) return;
  std::int64_t row = i / depth;
  y[i] = static_cast<std::int64_t>(indices[row]) == i - row * depth ? on : off;
}

template <class T, class Index>
std::unique_ptr<Kernel> kernel(const OneHotOptions& o, std::int64_t count) {
  auto element = [](double value) { return static_cast<T>(static_cast<compute_type<T>>(value)); };
  return make_kernel([count, depth = o.depth, on = element(o.on), off = element(o.off)](
                         const KernelArguments& a, Stream& stream) {
    launch(stream, threads_for(count), one_hot<T, Index>, a.input<Index>(0), a.output<T>(0), depth,
           on, off, count);
  });
}

std::unique_ptr<Kernel> make(const Node& node, const Gpu&, const KernelOptions&) {
  const auto& o = node.as<OneHotOptions>();
  std::int64_t count = node.output().shape.elements();
  return dispatch(o.dtype, [&](auto t) -> std::unique_ptr<Kernel> {
    using T = decltype(t);
    switch (node.input(0).dtype()) {
      case DType::i64:
        return kernel<T, std::int64_t>(o, count);
      case DType::i32:
        return kernel<T, std::int32_t>(o, count);
      default:
        return kernel<T, std::uint8_t>(o, count);
    }
  });
}

const KernelRegistration registration(one_hot_op, make);

}  // namespace
}  // namespace belfry::cuda
