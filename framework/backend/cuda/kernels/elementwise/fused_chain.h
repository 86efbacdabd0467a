#pragma once
// The frame of a compiled chain of elementwise ops: operands are read and results written in packs.
// The code for an element in between is written by fused_source.cpp. Compiled by NVRTC while the
// program runs, and by the host's compiler in tests.

#include "belfry/framework/backend/cuda/kernels/elements.h"
#include "belfry/framework/backend/cuda/kernels/elementwise/fused_arguments.h"

namespace belfry::cuda {

/// How an operand lies under a pack of the output.
enum class Reach {
  whole,     ///< it has the output's shape
  row,       ///< neighbours in the output are neighbours in it
  repeated,  ///< one element for the whole pack
  single,    ///< it has one element in all
};

/// Input number N, whose elements are X.
template <int N, class X, Reach reach>
struct Operand {
  template <int V>
  __device__ static Pack<X, V> read(const FusedArguments& a, std::int64_t first,
                                    const std::int64_t* at) {
    auto* from = static_cast<const X*>(a.in[N]);
    if constexpr (reach == Reach::whole) {
      return load_pack<V>(from + first);
    } else if constexpr (reach == Reach::row) {
      return load_pack<V>(from + at[N]);
    } else {
      X x = from[reach == Reach::repeated ? at[N] : 0];
      Pack<X, V> pack;
      for (int k = 0; k < V; ++k) pack.values[k] = x;
      return pack;
    }
  }
};

/// V elements from `first` on.
template <class Chain, int V, class... Operands>
__device__ void run_pack(const FusedArguments& a, std::int64_t first) {
  using Out = typename Chain::Out;
  std::int64_t at[most_fused_inputs] = {};
  if constexpr (Chain::strided) a.layout.offsets(first, at);
  auto apply = [&](const auto&... operands) {
    Pack<Out, V> results;
    for (int k = 0; k < V; ++k)
      results.values[k] = from_compute<Out>(Chain::apply(to_compute(operands.values[k])...));
    store_pack<V>(static_cast<Out*>(a.out) + first, results);
  };
  apply(Operands::template read<V>(a, first, at)...);
}

template <class Chain, class... Operands>
__device__ void run_chain(const FusedArguments& a) {
  std::int64_t first = thread_number() * Chain::each;
  if (first + Chain::each <= a.count) {
    run_pack<Chain, Chain::each, Operands...>(a, first);
    return;
  }
  for (std::int64_t i = first; i < a.count; ++i) run_pack<Chain, 1, Operands...>(a, i);
}

}  // namespace belfry::cuda
