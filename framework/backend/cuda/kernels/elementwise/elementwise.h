#pragma once
// Elementwise ops on a GPU: one kernel function for each functor and type. Internal to
// backend/cuda/kernels.

#include <utility>

#include "belfry/framework/backend/cuda/kernels.h"
#include "belfry/framework/backend/cuda/kernels/elements.h"
#include "belfry/framework/backend/cuda/kernels/layout.h"
#include "belfry/framework/ops/elementwise/elementwise.h"

namespace belfry::cuda {

template <int N>
struct Addresses {
  const void* at[N];
};

template <class F, class T, std::size_t... I>
__device__ auto apply_to(const Addresses<F::arity>& in, const std::int64_t (&at)[F::arity],
                         std::index_sequence<I...>) {
  return F::template apply<StdMath>(
      load(static_cast<const OperandOf<F, T, I>*>(in.at[I]) + at[I])...);
}

/// Operands of the output's shape (step 1) or with one element (step 0).
template <int N>
struct Steps {
  std::int64_t step[N];
};

/// Elements that a thread of elementwise_flat takes.
template <class T>
constexpr int flat_each = pack_size<T> < 8 ? pack_size<T> : 8;

template <int N, class X>
__device__ Pack<X, N> load_operand(const void* from, std::int64_t step, std::int64_t first) {
  auto* at = static_cast<const X*>(from);
  if (step != 0) return load_pack<N>(at + first);
  Pack<X, N> pack;
  for (int k = 0; k < N; ++k) pack.values[k] = *at;
  return pack;
}

template <class F, class T, class Out, std::size_t... I>
__device__ void apply_to_packs(const Addresses<F::arity>& in, const Steps<F::arity>& steps,
                               Out* out, std::int64_t first, std::index_sequence<I...>) {
  constexpr int each = flat_each<T>;
  auto apply = [&](const auto&... operands) {
    Pack<Out, each> results;
    for (int k = 0; k < each; ++k)
      results.values[k] =
          from_compute<Out>(F::template apply<StdMath>(to_compute(operands.values[k])...));
    store_pack<each>(out + first, results);
  };
  apply(load_operand<each, OperandOf<F, T, I>>(in.at[I], steps.step[I], first)...);
}

template <class F, class T, class Out>
__global__ void elementwise_flat(Addresses<F::arity> in, Steps<F::arity> steps, Out* out,
                                 std::int64_t count) {
  constexpr auto operands = std::make_index_sequence<F::arity>();
  std::int64_t first = thread_number() * flat_each<T>;
  if (first + flat_each<T> <= count) {
    apply_to_packs<F, T>(in, steps, out, first, operands);
    return;
  }
  for (std::int64_t i = first; i < count; ++i) {
    std::int64_t at[F::arity];
    for (int n = 0; n < F::arity; ++n) at[n] = i * steps.step[n];
    out[i] = from_compute<Out>(apply_to<F, T>(in, at, operands));
  }
}

template <class F, class T, class Out>
__global__ void elementwise_strided(Addresses<F::arity> in, Layout<F::arity> layout, Out* out,
                                    std::int64_t count) {
  std::int64_t i = thread_number();
  if (i >= count) return;
  std::int64_t at[F::arity];
  layout.offsets(i, at);
  out[i] = from_compute<Out>(apply_to<F, T>(in, at, std::make_index_sequence<F::arity>()));
}

template <class F, class T>
std::unique_ptr<Kernel> elementwise_kernel(const Node& node) {
  constexpr int n = F::arity;
  using Result = decltype(result_of<F, T>(std::make_index_sequence<n>()));
  using Out = std::conditional_t<std::is_same_v<Result, bool>, bool, T>;
  const Shape& shape = node.output().shape;
  std::int64_t count = shape.elements();
  std::array<Strides, n> strides;
  Steps<n> steps{};
  bool flat = true;
  for (int i = 0; i < n; ++i) {
    const Shape& operand = node.input(i).shape();
    strides[i] = broadcast_strides(operand, shape);
    steps.step[i] = operand.elements() == count ? 1 : 0;
    flat = flat && (operand.elements() == count || operand.elements() == 1);
  }
  Layout<n> layout = make_layout<n>(shape, strides);
  return make_kernel([=](const KernelArguments& a, Stream& stream) {
    Addresses<n> in{};
    for (std::size_t i = 0; i < n; ++i) in.at[i] = a.inputs[i];
    auto* out = a.output<Out>(0);
    if (flat) {
      launch(stream, threads_for(count, flat_each<T>), elementwise_flat<F, T, Out>, in, steps, out,
             count);
    } else {
      launch(stream, threads_for(count), elementwise_strided<F, T, Out>, in, layout, out, count);
    }
  });
}

template <class F>
std::unique_ptr<Kernel> make_elementwise(const Node& node, const Gpu&, const KernelOptions&) {
  return dispatch(node.inputs().back().dtype(), [&](auto t) -> std::unique_ptr<Kernel> {
    using T = decltype(t);
    if constexpr (belfry::detail::in_domain_of<T>(F::domain)) {
      return elementwise_kernel<F, T>(node);
    } else {
      return nullptr;
    }
  });
}

/// Registers the kernels of the functors for which Chosen<F>::value holds.
template <template <class> class Chosen>
bool register_elementwise() {
  for_each_functor([](auto functor) {
    using F = decltype(functor);
    if constexpr (Chosen<F>::value) KernelRegistration(F::op, make_elementwise<F>);
  });
  return true;
}

}  // namespace belfry::cuda
