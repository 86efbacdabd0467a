#pragma once
// Attention whose scores are never in memory as a whole.

#include <cstdint>

#include "belfry/framework/graph/scope.h"

namespace belfry {

/// Options of scaled_dot_product_attention(). Query i of tq stands at key i + tk - tq, so that the
/// last query stands at the last key. A key counts for a query where all of these let it.
struct DotProductAttentionOptions {
  bool causal = false;      ///< keys up to the query's own
  std::int64_t window = 0;  ///< keys less than so many away from the query's own; 0: all
  Tensor lengths = {};      ///< i32 or i64 [n], each in 0..tk: the first keys of each row
  /// Bool, where it is true: [n, heads, tq, tk], each axis perhaps 1. Undefined: everywhere.
  Tensor mask = {};
  /// i32 or i64 [n, tq, 2]: of each query the first key that counts and the one behind the last.
  /// For rows of several documents (begin where a place's document does), and for queries that
  /// stand elsewhere than said above. Numbers outside 0..tk are taken as the nearest of it. Keys
  /// and values that a range leaves out, or the mask, must be finite: some are multiplied by 0.
  Tensor key_ranges = {};
  float dropout = 0;      ///< fraction of the weights that a training step leaves out, in [0, 1)
  bool training = false;  ///< whether there is dropout
  double scale = 0;       ///< of the products of queries and keys; 0: 1 / sqrt(d)
};

/// softmax(scale q k') v for each head: q [n, tq, heads, d], k [n, tk, kv_heads, d],
/// v [n, tk, kv_heads, e] -> [n, tq, heads, e] (Vaswani et al., NeurIPS 2017, section 3.2). heads
/// is a multiple of kv_heads: heads / kv_heads neighbours share keys and values (grouped queries;
/// Ainslie et al., EMNLP 2023). A query for which no key counts gives 0.
///
/// Scores are made and used in tiles, with running maxima (Dao et al., "FlashAttention", NeurIPS
/// 2022): beside its operands the step keeps [n, heads, tq], also for the gradient, which makes
/// them again. Axis 0 is the batch's rows for the random numbers of dropout, whose stream is named
/// by `s`.
///
/// Error: shapes and types that are not as above, dropout outside [0, 1), a window below 0, dropout
/// of more than 2^34 weights a row; on GPUs, d or e above 512, for which there is no kernel; when
/// the step runs, a length outside 0..tk.
Tensor scaled_dot_product_attention(const Scope& s, Tensor q, Tensor k, Tensor v,
                                    const DotProductAttentionOptions& options = {});

}  // namespace belfry
