#pragma once
// How a group of threads goes through a row: 16 bytes at a time where it is aligned. Internal to
// backend/cuda/kernels.

#include "belfry/framework/backend/cuda/kernels/reduction/block_reduce.h"

namespace belfry::cuda {

/// Elements at the front that can be moved in packs.
template <class T>
__device__ std::int64_t packed_part(const T* row, std::int64_t length) {
  constexpr int n = pack_size<T>;
  return reinterpret_cast<std::uintptr_t>(row) % 16 == 0 ? length / n * n : 0;
}

/// Calls f(j, x[j]) for the elements of the row that fall to this thread of its group.
template <int Group, class T, class F>
__device__ void for_each_in_row(const T* x, std::int64_t length, F f) {
  constexpr int n = pack_size<T>;
  std::int64_t packed = packed_part(x, length), number = number_in_group<Group>();
  for (std::int64_t j = number * n; j < packed; j += Group * n) {
    auto pack = load_pack<n>(x + j);
    for (int k = 0; k < n; ++k) f(j + k, to_compute(pack.values[k]));
  }
  for (std::int64_t j = packed + number; j < length; j += Group) f(j, load(x + j));
}

/// y[j] = f(j, x[j]). x and y are the same row of two arrays of one shape, or of one array; every
/// element is read by the thread that read it in for_each_in_row().
template <int Group, class T, class F>
__device__ void map_row(const T* x, T* y, std::int64_t length, F f) {
  constexpr int n = pack_size<T>;
  std::int64_t packed = packed_part(x, length), number = number_in_group<Group>();
  for (std::int64_t j = number * n; j < packed; j += Group * n) {
    auto pack = load_pack<n>(x + j);
    for (int k = 0; k < n; ++k)
      pack.values[k] = from_compute<T>(f(j + k, to_compute(pack.values[k])));
    store_pack<n>(y + j, pack);
  }
  for (std::int64_t j = packed + number; j < length; j += Group) store(y + j, f(j, load(x + j)));
}

}  // namespace belfry::cuda
