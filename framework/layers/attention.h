#pragma once
// Attention: each query takes a weighted mean of values, with the weights that its products with
// the keys give (Vaswani et al., "Attention is all you need", NeurIPS 2017, section 3.2).

#include <cstdint>

#include "belfry/framework/graph/scope.h"

namespace belfry {

struct AttentionOptions {
  /// Bool, broadcasts to the scores [..., tq, tk]: a query looks only where it is true. One that
  /// may look nowhere takes the plain mean of all values. None: all look everywhere.
  Tensor mask = {};
  /// Floating, broadcasts to the scores and is added to them, scaled as they are: relative
  /// positions, for example. Gradients flow into it.
  Tensor bias = {};
  float dropout = 0;      ///< share of the weights that a training step leaves out, in [0, 1)
  bool training = false;  ///< whether there is dropout
};
/// softmax(q k^T / sqrt(d) + bias) v: q [..., tq, d], k [..., tk, d], v [..., tk, e], leading axes
/// broadcast -> [..., tq, e]. The step holds the weights, [..., tq, tk]. Axis 0 is the batch's rows
/// for the random numbers of dropout, whose stream is named by `s`.
/// Error: shapes and types that are not as above, with the scope; dropout outside [0, 1).
Tensor attention(const Scope& s, Tensor q, Tensor k, Tensor v, AttentionOptions options = {});

struct MultiHeadAttentionOptions {
  std::int64_t heads;     ///< required; must divide the width of the queries
  bool use_bias = true;   ///< of the four dense layers
  Tensor mask = {};       ///< as AttentionOptions::mask, broadcasts to [..., heads, tq, tk]
  Tensor bias = {};       ///< as AttentionOptions::bias, broadcasts to [..., heads, tq, tk]
  float dropout = 0;      ///< of the weights, in [0, 1)
  bool training = false;  ///< whether there is dropout
  Initializer kernel_initializer = glorot_uniform();
  Initializer bias_initializer = zeros();
};
/// Attention in `heads` subspaces at once: q [..., tq, c], k [..., tk, ck], v [..., tk, cv], of the
/// same leading axes, of which there is at least one -> [..., tq, c]. Dense layers `query`, `key`,
/// and `value` under `s` make c channels of each, of which head i has the i-th of `heads` equal
/// parts; after attention() the parts are joined again for the dense layer `output`. With one width
/// throughout these are the 4 (c^2 + c) parameters of PyTorch's MultiheadAttention.
///
/// For self-attention q, k and v are the same tensor. padding_mask() gives the mask for rows of
/// different lengths. A mask or bias with fewer axes than the scores broadcasts over the leading
/// ones: a bias [heads, t, t] is shared by all rows, and one for windows [w, 1, t, t] goes with
/// q [n, w, t, c].
///
/// Error: heads below 1 or no divisor of c; as dense() and attention().
Tensor multi_head_attention(const Scope& s, Tensor q, Tensor k, Tensor v,
                            MultiHeadAttentionOptions options);

/// A mask for keys of which only the first lengths[i] of row i count: lengths [n] (i32 or i64) ->
/// bool [n, 1, 1, keys], for scores [n, heads, tq, keys].
Tensor padding_mask(Tensor lengths, std::int64_t keys);

}  // namespace belfry
