#pragma once
// The common parts of device code: elements of all types, loaded and stored one by one or 16 bytes
// at a time. Read by nvcc, and by the host's compiler where kernels are emulated.

#include <cstdint>

#include "belfry/framework/backend/cuda/faults.h"
#include "belfry/framework/ops/elementwise/functors.h"
#include "belfry/framework/tensor/dtype.h"

namespace belfry::cuda {

/// The number of this thread among all of the launch.
__device__ inline std::int64_t thread_number() {
  return static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
}

/// An element as the type in which it is computed: float for the 16-bit floats, else itself.
template <class T>
__device__ T to_compute(T x) {
  return x;
}
__device__ inline float to_compute(BFloat16 x) {
#if defined(__CUDA_ARCH__)
  return __uint_as_float(static_cast<unsigned>(x.bits) << 16);
#else
  return static_cast<float>(x);
#endif
}
__device__ inline float to_compute(Float16 x) {
#if defined(__CUDA_ARCH__)
  float y;
  asm("cvt.f32.f16 %0, %1;" : "=f"(y) : "h"(x.bits));
  return y;
#else
  return static_cast<float>(x);
#endif
}

/// The inverse: rounds to nearest even.
template <class T>
__device__ T from_compute(compute_type<T> x) {
  return x;
}
template <>
__device__ inline BFloat16 from_compute<BFloat16>(float x) {
#if defined(__CUDA_ARCH__)
  BFloat16 y;
  asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(y.bits) : "f"(x));
  return y;
#else
  return BFloat16(x);
#endif
}
template <>
__device__ inline Float16 from_compute<Float16>(float x) {
#if defined(__CUDA_ARCH__)
  Float16 y;
  asm("cvt.rn.f16.f32 %0, %1;" : "=h"(y.bits) : "f"(x));
  return y;
#else
  return Float16(x);
#endif
}

template <class T>
__device__ compute_type<T> load(const T* at) {
  return to_compute(*at);
}
template <class T>
__device__ void store(T* at, compute_type<T> x) {
  *at = from_compute<T>(x);
}

/// N elements that are moved at once.
template <class T, int N>
struct alignas(sizeof(T) * N <= 16 ? sizeof(T) * N : 16) Pack {
  T values[N];
};
/// How many elements of T fill 16 bytes.
template <class T>
constexpr int pack_size = 16 / static_cast<int>(sizeof(T));

template <int N, class T>
__device__ Pack<T, N> load_pack(const T* at) {
  return *reinterpret_cast<const Pack<T, N>*>(at);
}
template <int N, class T>
__device__ void store_pack(T* at, const Pack<T, N>& pack) {
#if defined(__CUDA_ARCH__)
  if constexpr (sizeof(pack) == 16) {  // which nvcc stores in four words
    auto words = __builtin_bit_cast(uint4, pack);
    asm volatile("st.global.v4.u32 [%0], {%1, %2, %3, %4};" ::"l"(__cvta_generic_to_global(at)),
                 "r"(words.x), "r"(words.y), "r"(words.z), "r"(words.w)
                 : "memory");
    return;
  }
#endif
  *reinterpret_cast<Pack<T, N>*>(at) = pack;
}

/// The elements of a pack as the type in which they are computed.
template <int V, class T>
__device__ void unpack(const Pack<T, V>& pack, compute_type<T> (&values)[V]) {
  for (int k = 0; k < V; ++k) values[k] = to_compute(pack.values[k]);
}

/// V elements at once, as the type in which they are computed.
template <int V, class T>
__device__ void load_values(const T* from, compute_type<T> (&values)[V]) {
  unpack(load_pack<V>(from), values);
}
template <int V, class T>
__device__ void store_values(T* to, const compute_type<T> (&values)[V]) {
  Pack<T, V> pack;
  for (int k = 0; k < V; ++k) pack.values[k] = from_compute<T>(values[k]);
  store_pack<V>(to, pack);
}

/// Says that the element at `position` is bad.
__device__ inline void report(const FaultSite& site, std::int64_t position) {
  *site.word = site.kernel | static_cast<std::uint64_t>(position);
}

}  // namespace belfry::cuda
