#include "belfry/framework/backend/cuda/kernels/elements.h"
#include "belfry/framework/backend/cuda/kernels/elementwise/bias_activation.h"
#include "belfry/framework/backend/cuda/launch.h"

namespace belfry::cuda {
namespace {

/// A thread takes N neighbours of one row.
template <class T, int N>
__global__ void bias_activation(T* y, const T* bias, bool relu, std::int64_t columns,
                                std::int64_t count) {
  std::int64_t first = thread_number() * N;
  if (first >= count) return;
  Pack<T, N> pack = load_pack<N>(y + first), added{};
  if (bias) added = load_pack<N>(bias + first % columns);
  for (int i = 0; i < N; ++i) {
    compute_type<T> x = to_compute(pack.values[i]);
    if (bias) x += to_compute(added.values[i]);
    if (relu) x = functor::Relu::apply<StdMath>(x);
    pack.values[i] = from_compute<T>(x);
  }
  store_pack<N>(y + first, pack);
}

}  // namespace

void enqueue_bias_activation(Stream& stream, const BiasActivation& what, void* y,
                             const void* bias) {
  if (!bias && !what.relu) return;
  dispatch_floating(what.dtype, "bias and activation", [&](auto t) {
    using T = decltype(t);
    constexpr int n = pack_size<T>;
    std::int64_t count = what.rows * what.columns;
    auto* to = static_cast<T*>(y);
    auto* added = static_cast<const T*>(bias);
    if (what.columns % n == 0) {
      launch(stream, threads_for(count, n), bias_activation<T, n>, to, added, what.relu,
             what.columns, count);
    } else {
      launch(stream, threads_for(count), bias_activation<T, 1>, to, added, what.relu, what.columns,
             count);
    }
  });
}

}  // namespace belfry::cuda
