#pragma once
// One value of the values of many threads: a warp's or a block's. Always combined in the same
// order, so that results are the same in every run. Internal to backend/cuda/kernels.

#include <cstdint>
#include <limits>
#include <type_traits>

#include "belfry/framework/backend/cuda/kernels/elements.h"
#include "belfry/framework/backend/cuda/launch.h"

namespace belfry::cuda {

// ---- folds: how two values become one. `Accumulator<T>` is the type in which values of type T
// accumulate, first() the fold of nothing, and add() is associative and commutative but for
// rounding.

/// Whole numbers wrap around.
template <class T>
using SumType = std::conditional_t<std::is_integral_v<T>, std::uint64_t, compute_type<T>>;

struct Sum {
  template <class T>
  using Accumulator = SumType<T>;
  template <class A>
  static __device__ A first() {
    return A{};
  }
  template <class A>
  static __device__ A add(A a, A b) {
    return a + b;
  }
};

struct Product {
  template <class T>
  using Accumulator = SumType<T>;
  template <class A>
  static __device__ A first() {
    return A(1);
  }
  template <class A>
  static __device__ A add(A a, A b) {
    return a * b;
  }
};

/// NaN wins.
struct Highest {
  template <class T>
  using Accumulator = compute_type<T>;
  template <class A>
  static __device__ A first() {
    return std::is_floating_point_v<A> ? -std::numeric_limits<A>::infinity()
                                       : std::numeric_limits<A>::lowest();
  }
  template <class A>
  static __device__ A add(A a, A b) {
    return functor::Maximum::apply<StdMath>(a, b);
  }
};

/// NaN wins.
struct Lowest {
  template <class T>
  using Accumulator = compute_type<T>;
  template <class A>
  static __device__ A first() {
    return std::is_floating_point_v<A> ? std::numeric_limits<A>::infinity()
                                       : std::numeric_limits<A>::max();
  }
  template <class A>
  static __device__ A add(A a, A b) {
    return functor::Minimum::apply<StdMath>(a, b);
  }
};

/// Two sums.
template <class A>
struct Pair {
  A a, b;
  template <class F>
  __device__ Pair each(F f) const {
    return {f(a), f(b)};
  }
};
template <class A>
__device__ Pair<A> operator+(Pair<A> x, Pair<A> y) {
  return {x.a + y.a, x.b + y.b};
}

// ---- warps, blocks, groups

/// Threads of a block in all kernels that combine values.
constexpr int block_threads = 256;

/// The value of the lane whose number differs in the bits of `mask`. Structs have each(f), the
/// struct of f of each member.
template <class A>
__device__ A value_across(A x, unsigned mask) {
  if constexpr (std::is_arithmetic_v<A>) {
    return static_cast<A>(__shfl_xor_sync(0xffffffffu, x, mask));
  } else {
    return x.each([mask](auto member) { return value_across(member, mask); });
  }
}

/// The fold of the values of a warp, in all of its lanes, all of which call.
template <class Fold, class A>
__device__ A reduce_warp(A x) {
  for (unsigned mask = 16; mask > 0; mask /= 2) x = Fold::add(x, value_across(x, mask));
  return x;
}

/// The fold of the values of a block of block_threads, in all of its threads, all of which call.
template <class Fold, class A>
__device__ A reduce_block(A x) {
  constexpr unsigned warps = block_threads / 32;
  __shared__ A of_warp[warps];
  unsigned lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  x = reduce_warp<Fold>(x);
  __syncthreads();  // the call before may still be read
  if (lane == 0) of_warp[warp] = x;
  __syncthreads();
  x = of_warp[lane % warps];
  for (unsigned mask = warps / 2; mask > 0; mask /= 2) x = Fold::add(x, value_across(x, mask));
  return x;
}

/// A group of threads works on one row: one thread (Group = 1), a warp (32) or a block
/// (block_threads).
template <int Group, class Fold, class A>
__device__ A reduce_group(A x) {
  static_assert(Group == 1 || Group == 32 || Group == block_threads);
  if constexpr (Group == 1) {
    return x;
  } else if constexpr (Group == 32) {
    return reduce_warp<Fold>(x);
  } else {
    return reduce_block<Fold>(x);
  }
}
template <int Group>
__device__ std::int64_t group_number() {
  return thread_number() / Group;
}
template <int Group>
__device__ int number_in_group() {
  return static_cast<int>(threadIdx.x) % Group;
}

/// The launch of so many groups.
template <int Group>
LaunchShape groups(std::int64_t count) {
  return threads_for(count * Group, 1, block_threads);
}

/// Calls f(std::integral_constant<int, Group>) with the size of group for rows of `length`: a block
/// to long ones, and to those of some length of which there are few.
template <class F>
void with_group_for(std::int64_t rows, std::int64_t length, F f) {
  if (length <= 256 || (length <= 1024 && rows >= 4096)) {
    f(std::integral_constant<int, 32>());
  } else {
    f(std::integral_constant<int, block_threads>());
  }
}

}  // namespace belfry::cuda
