#pragma once
// The common parts of attention and its gradient. Scores are made tile by tile in shared memory.
// Internal to backend/cuda/kernels.

#include "belfry/framework/backend/cuda/kernels.h"
#include "belfry/framework/backend/cuda/kernels/reduction/rows.h"
#include "belfry/framework/ops/attention/dot_product_attention.h"
#include "belfry/framework/ops/random/draw.h"

namespace belfry::cuda {

constexpr int attention_threads = 128, warp_threads = 32;
/// Elements of a vector that a thread sums, and so the widest vector that there are kernels for.
constexpr int elements_of_thread = 4, most_width = attention_threads * elements_of_thread;

/// The operands that all kernels of attention read.
template <class T>
struct AttentionInputs {
  AttentionSizes sizes;
  compute_type<T> scale;
  const T *q, *k, *v;
  const std::int64_t* random;  ///< state; null without dropout
  float dropout;
  std::uint64_t stream;

  /// The factor of a weight under dropout.
  __device__ compute_type<T> kept(std::int64_t row, std::int64_t head, std::int64_t query,
                                  std::int64_t key) const {
    if (!random) return 1;
    std::int64_t weight = sizes.weight(head, query, key);
    RandomBlock block{.key = philox_key(static_cast<std::uint64_t>(random[0]), stream),
                      .low = static_cast<std::uint64_t>(random[2] + row) << 32
                             | static_cast<std::uint64_t>(weight / 4),
                      .step = static_cast<std::uint64_t>(random[1]) & 0xffffffffffff};
    auto words = block.words();
    std::uint32_t word = words[0];
    for (int i = 1; i < 4; ++i)
      if (weight % 4 == i) word = words[i];
    return uniform_float(word) >= dropout
               ? static_cast<compute_type<T>>(1 / (1 - static_cast<double>(dropout)))
               : 0;
  }
};

/// The product of two vectors, by the threads of a warp; all of them get it.
template <class T>
__device__ compute_type<T> warp_product(const T* a, const T* b, std::int64_t width) {
  compute_type<T> sum = 0;
  for (std::int64_t i = threadIdx.x % warp_threads; i < width; i += warp_threads)
    sum += load(a + i) * load(b + i);
  return reduce_warp<Sum>(sum);
}

/// The largest score or the sum of a block's threads, given to all of them.
template <class Fold, class C>
__device__ C fold_block(C x) {
  __shared__ C of_warps[attention_threads / warp_threads];
  x = reduce_warp<Fold>(x);
  __syncthreads();  // the fold before has been read
  if (threadIdx.x % warp_threads == 0) of_warps[threadIdx.x / warp_threads] = x;
  __syncthreads();
  for (int i = 0; i < attention_threads / warp_threads; ++i)
    x = i == 0 ? of_warps[0] : Fold::add(x, of_warps[i]);
  return x;
}

/// Whether there are kernels for these sizes.
inline bool has_attention(const AttentionSizes& s) {
  return s.d <= most_width && s.e <= most_width;
}

template <class T>
AttentionInputs<T> attention_inputs(const KernelArguments& a,
                                    const DotProductAttentionNodeOptions& o,
                                    const AttentionSizes& sizes, const AttentionIndices& at,
                                    const Shape& mask_shape) {
  return {.sizes = sizes.with(at.mask > 0 ? a.inputs[at.mask] : nullptr, mask_shape,
                              at.lengths > 0 ? a.inputs[at.lengths] : nullptr,
                              at.key_ranges > 0 ? a.inputs[at.key_ranges] : nullptr),
          .scale = static_cast<compute_type<T>>(o.scale),
          .q = a.input<T>(0),
          .k = a.input<T>(1),
          .v = a.input<T>(2),
          .random = at.random > 0 ? a.input<std::int64_t>(at.random) : nullptr,
          .dropout = o.dropout,
          .stream = o.stream};
}

}  // namespace belfry::cuda
