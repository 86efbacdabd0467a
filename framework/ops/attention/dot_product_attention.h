#pragma once
// The common parts of the kernels of attention on every device: the op objects, sizes, and which
// keys count for a query. nvcc reads this file too.

#include <cstdint>

#include "belfry/framework/base/host_device.h"
#include "belfry/framework/graph/op_def.h"

namespace belfry {

/// (q, k, v, [mask], [lengths], [key ranges], [random state]) -> (y, log of the sum of exponentials
/// of the scores [n, heads, tq], minus infinity where no key counts, in f32, or f64 for f64).
struct DotProductAttentionNodeOptions {
  bool causal = false;
  std::int64_t window = 0;
  double scale = 1;
  bool mask = false, lengths = false, key_ranges = false;  ///< which operands there are
  float dropout = 0;                                       ///< above 0 there is a random state
  std::uint64_t stream = 0;
  BELFRY_FIELDS(causal, window, scale, mask, lengths, key_ranges, dropout, stream)
};
extern const OpDef dot_product_attention_op;
/// (q, k, v, y, log of the sum, dy, [mask], [lengths], [key ranges], [random state]) -> (dq, dk,
/// dv).
extern const OpDef dot_product_attention_grad_op;

/// Indices of the operands behind the `first` ones; -1 for those that are not there.
struct AttentionIndices {
  int mask = -1, lengths = -1, key_ranges = -1, random = -1;
  std::size_t inputs;  ///< how many there are
  AttentionIndices(const DotProductAttentionNodeOptions& o, int first);
};

/// Sizes of the operands, and the keys that count. Those of a run may be null.
struct AttentionSizes {
  std::int64_t n, tq, tk, heads, kv_heads, d, e;
  bool causal;
  std::int64_t window;
  const bool* mask = nullptr;
  std::int64_t mask_strides[4] =
      {};  ///< elements between neighbours on each axis, 0 for one of size 1
  const std::int64_t* lengths = nullptr;
  const std::int64_t* key_ranges = nullptr;

  AttentionSizes(const Shape& q, const Shape& v, const DotProductAttentionNodeOptions& o);
  /// With the operands of a run; `mask_shape` is that of the mask, if there is one.
  AttentionSizes with(const void* mask, const Shape& mask_shape, const void* lengths,
                      const void* key_ranges) const;

  struct Keys {
    std::int64_t first, end;
  };
  /// The keys that may count for a query of a row. Others than the mask have no holes.
  BELFRY_HOST_DEVICE Keys keys(std::int64_t row, std::int64_t query) const {
    std::int64_t at = query + tk - tq;
    Keys k{0, length(row)};
    if (causal && k.end > at + 1) k.end = at + 1;
    if (window > 0 && k.end - at > window) k.end = at + window;
    if (window > 0 && at - k.first >= window) k.first = at - window + 1;
    if (key_ranges) {
      const std::int64_t* range = key_ranges + 2 * (row * tq + query);
      if (range[0] > k.first) k.first = range[0];
      if (range[1] < k.end) k.end = range[1];
    }
    if (k.end < 0) k.end = 0;
    if (k.first > k.end) k.first = k.end;
    return k;
  }
  /// Whether the mask lets a key count.
  BELFRY_HOST_DEVICE bool counts(std::int64_t row, std::int64_t head, std::int64_t query,
                                 std::int64_t key) const {
    return !mask
           || mask[row * mask_strides[0] + head * mask_strides[1] + query * mask_strides[2]
                   + key * mask_strides[3]];
  }
  /// 0 for a bad length: kernels of a GPU tell of it, and go on.
  BELFRY_HOST_DEVICE std::int64_t length(std::int64_t row) const {
    if (!lengths) return tk;
    return lengths[row] < 0 || lengths[row] > tk ? 0 : lengths[row];
  }
  /// The number of the weight among those of its row, for random numbers: those of a query begin at
  /// a multiple of four.
  BELFRY_HOST_DEVICE std::int64_t weight(std::int64_t head, std::int64_t query,
                                         std::int64_t key) const {
    return (head * tq + query) * ((tk + 3) / 4 * 4) + key;
  }
  BELFRY_HOST_DEVICE std::int64_t kv_head(std::int64_t head) const {
    return head / (heads / kv_heads);
  }
  /// Where a vector begins in q or y, k or v; `width` is d or e.
  BELFRY_HOST_DEVICE std::int64_t query_at(std::int64_t row, std::int64_t query, std::int64_t head,
                                           std::int64_t width) const {
    return ((row * tq + query) * heads + head) * width;
  }
  BELFRY_HOST_DEVICE std::int64_t key_at(std::int64_t row, std::int64_t key, std::int64_t kv_head,
                                         std::int64_t width) const {
    return ((row * tk + key) * kv_heads + kv_head) * width;
  }
};

/// Error naming the first row whose length is bad.
void check_attention_lengths(const AttentionSizes& sizes);

}  // namespace belfry
