#pragma once
// One launch for the tensors of many variables. Internal to backend/cuda/kernels.

#include <array>
#include <vector>

#include "belfry/framework/backend/cuda/kernels.h"
#include "belfry/framework/backend/cuda/kernels/elements.h"

namespace belfry::cuda {

/// N tensors that lie alike: a variable with what belongs to it. Each is input `inputs[n]`.
template <int N>
struct TensorGroup {
  std::array<int, N> inputs;
  std::int64_t elements = 0;
  int rank = 0;
  unsigned row = 0;  ///< elements of a row that waits for a gradient; 0: none waits
};

/// The groups of one launch, passed by value.
template <int N>
struct Batch {
  static constexpr int most = 256;
  void* tensors[most][N];
  std::int64_t elements[most];
  int rank[most];
  unsigned row[most];
  unsigned first_block[most];  // of each group; rising
  int groups = 0;
  int first_group = 0;  // its number among those of all launches
  unsigned blocks = 0;  // of all of them
};

constexpr int threads_of_update = 256;
/// Elements of T that a thread takes, and a block.
template <class T>
constexpr int update_each = pack_size<T>;
template <class T>
constexpr int update_block = update_each<T>* threads_of_update;

/// The chunk of a thread: elements first .. end - 1 of a group, none if first is not below end.
struct Chunk {
  int group;
  std::int64_t first, end;
};

template <class T, int N>
__device__ Chunk chunk_of(const Batch<N>& batch) {
  int group = 0;
  for (int step = Batch<N>::most / 2; step > 0; step /= 2)
    if (group + step < batch.groups && batch.first_block[group + step] <= blockIdx.x) group += step;
  std::int64_t block = blockIdx.x - batch.first_block[group];
  std::int64_t first = (block * threads_of_update + threadIdx.x) * update_each<T>;
  return {group, first, std::min(first + update_each<T>, batch.elements[group])};
}

/// Calls f(batch) for launches that cover all groups of elements of T.
template <class T, int N, class F>
void for_each_batch(const std::vector<TensorGroup<N>>& groups, const KernelArguments& a, F&& f) {
  Batch<N> batch;
  for (std::size_t g = 0; g < groups.size(); ++g) {
    int at = batch.groups++;
    for (std::size_t n = 0; n < N; ++n) batch.tensors[at][n] = a.inputs[groups[g].inputs[n]];
    batch.elements[at] = groups[g].elements;
    batch.rank[at] = groups[g].rank;
    batch.row[at] = groups[g].row;
    batch.first_block[at] = batch.blocks;
    batch.blocks +=
        static_cast<unsigned>((groups[g].elements + update_block<T> - 1) / update_block<T>);
    if (batch.groups < Batch<N>::most && g + 1 < groups.size()) continue;
    f(static_cast<const Batch<N>&>(batch));
    batch.first_group += batch.groups;
    batch.groups = 0;
    batch.blocks = 0;
  }
}

/// Calls f(std::integral_constant<int, n>, i) for the chunk: once with packs of n elements from i
/// on, or element by element.
template <class T, class F>
__device__ void for_each_pack(const Chunk& chunk, F&& f) {
  if (chunk.first + update_each<T> == chunk.end) {
    f(std::integral_constant<int, update_each<T>>(), chunk.first);
  } else {
    for (std::int64_t i = chunk.first; i < chunk.end; ++i) f(std::integral_constant<int, 1>(), i);
  }
}

}  // namespace belfry::cuda
