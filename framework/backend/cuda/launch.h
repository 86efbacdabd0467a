#pragma once
// Enqueueing a kernel function. Internal to backend/cuda.

#include <algorithm>
#include <cstdint>
#include <functional>
#include <tuple>
#include <type_traits>

namespace belfry {
class Stream;
}

namespace belfry::cuda {

/// How many threads run a kernel function: blocks * threads. None is launched for 0 blocks.
struct LaunchShape {
  std::int64_t blocks = 1;
  int threads = 256;  ///< of a block
};

/// A kernel function with its arguments.
struct KernelCall {
  const void* function = nullptr;
  LaunchShape shape;
  void** arguments = nullptr;  ///< their addresses
  /// The call of `function` as one of the host's, with copies of the arguments: for an emulation.
  std::function<void()> (*bind)(const void* function, void** arguments) = nullptr;
};

/// Enqueues it on a stream of a GPU.
void enqueue(Stream& stream, const KernelCall& call);

namespace detail {

template <class... P>
std::function<void()> bind(const void* function, void** arguments) {
  return [kernel = reinterpret_cast<void (*)(P...)>(const_cast<void*>(function)),
          values = [&]<std::size_t... I>(std::index_sequence<I...>) {
            return std::tuple<P...>(*static_cast<P*>(arguments[I])...);
          }(std::index_sequence_for<P...>())] { std::apply(kernel, values); };
}

}  // namespace detail

/// The bytes that the parameters of a kernel may have (CUDA C++ Programming Guide, "Function
/// Parameters").
constexpr std::size_t most_parameter_bytes = 32764;

/// Enqueues a `__global__` function. Parameters are passed by value.
template <class... P>
void launch(Stream& stream, LaunchShape shape, void (*kernel)(P...),
            std::type_identity_t<P>... arguments) {
  static_assert((sizeof(P) + ...) <= most_parameter_bytes);
  if (shape.blocks == 0) return;
  void* addresses[] = {const_cast<void*>(static_cast<const void*>(&arguments))...};
  enqueue(stream, {reinterpret_cast<const void*>(kernel), shape, addresses, &detail::bind<P...>});
}

/// One thread an element, each taking `each` of them.
inline LaunchShape threads_for(std::int64_t elements, std::int64_t each = 1, int threads = 256) {
  std::int64_t per_block = each * threads;
  return {(elements + per_block - 1) / per_block, threads};
}

}  // namespace belfry::cuda
