#pragma once
// CUDA's words for a compiler of the host: kernels are compiled as plain C++ with this file in
// front and run block by block, the threads of a block as fibers that change places where they wait
// for each other.

#include <cmath>
#include <cstdint>
#include <cstring>

#define __global__
#define __device__
#define __host__
#define __forceinline__ inline
#define __shared__ static  // one block runs at a time
#define __launch_bounds__(...)

namespace belfry::cuda::emulated {

struct Index {
  unsigned x = 0, y = 0, z = 0;
};

/// The place of the thread that runs.
struct ThreadIndices {
  Index thread, block, block_size, grid_size;
};
extern ThreadIndices indices;

void wait_for_block();
void wait_for_warp();
/// Buffer of `lane` of this thread's warp, for the exchange that is under way.
void* exchange_buffer(unsigned lane);

template <class T>
T exchange(T value, unsigned from) {
  static_assert(sizeof(T) <= 16);
  unsigned lane = indices.thread.x % 32;
  std::memcpy(exchange_buffer(lane), &value, sizeof(T));
  void* source = exchange_buffer(from < 32 ? from : lane);
  wait_for_warp();
  std::memcpy(&value, source, sizeof(T));
  return value;
}

}  // namespace belfry::cuda::emulated

#define threadIdx (::belfry::cuda::emulated::indices.thread)
#define blockIdx (::belfry::cuda::emulated::indices.block)
#define blockDim (::belfry::cuda::emulated::indices.block_size)
#define gridDim (::belfry::cuda::emulated::indices.grid_size)

inline void __syncthreads() { belfry::cuda::emulated::wait_for_block(); }
inline void __syncwarp(unsigned = 0xffffffff) { belfry::cuda::emulated::wait_for_warp(); }

template <class T>
T __shfl_xor_sync(unsigned, T value, unsigned mask) {
  return belfry::cuda::emulated::exchange(value, threadIdx.x % 32 ^ mask);
}
template <class T>
T __shfl_down_sync(unsigned, T value, unsigned distance) {
  return belfry::cuda::emulated::exchange(value, threadIdx.x % 32 + distance);
}
template <class T>
T __shfl_sync(unsigned, T value, unsigned lane) {
  return belfry::cuda::emulated::exchange(value, lane);
}

inline double __dmul_rn(double a, double b) { return a * b; }

// One thread runs at a time.
template <class T>
T atomicAdd(T* at, T value) {
  T old = *at;
  *at += value;
  return old;
}
template <class T>
T atomicMax(T* at, T value) {
  T old = *at;
  if (value > old) *at = value;
  return old;
}
