#pragma once
// A small Transformer encoder that classifies sequences (Vaswani et al., "Attention is all you
// need", NeurIPS 2017).

#include <cstdint>
#include <string>

#include "belfry/framework/framework.h"

namespace belfry::models {

/// Options of transformer() and transformer_encoder().
struct TransformerOptions {
  std::int64_t classes = 2;        ///< at least 2
  std::int64_t vocabulary = 0;     ///< number of tokens; needed where the feature holds tokens
  std::int64_t depth = 2;          ///< blocks
  std::int64_t width = 64;         ///< of each place
  std::int64_t heads = 4;          ///< of attention; must divide the width
  std::int64_t hidden = 256;       ///< units between the two dense layers of a block
  bool learned_positions = false;  ///< false: sines and cosines, as in the paper's section 3.5
  std::int64_t longest = 512;      ///< sequence, where positions are learned
  bool pool_mean = true;           ///< classify the mean of all places; false: the first one
  float dropout = 0.1f;            ///< of embeddings, attention's weights, hidden units, and what a
                                   ///< block adds, in [0, 1)
  std::string feature = "token";   ///< i32 or i64 [n, t], or floating [n, t, c]
  std::string lengths = {};  ///< feature with the number of places that count, [n]; empty: all do
  Optimizer optimizer = adam({.learning_rate = 1e-3});  ///< of all variables
  BELFRY_FIELDS(classes, vocabulary, depth, width, heads, hidden, learned_positions, longest,
                pool_mean, dropout, feature, lengths, optimizer)
};

/// Tokens get a vector each (scaled as in the paper's section 3.4, but not where positions are
/// learned), features a dense layer; positions are added. Then `depth` blocks with the norm in
/// front (Xiong et al., "On layer normalization in the transformer architecture", ICML 2020), x +
/// attention(norm(x)) and x + dense(gelu(dense(norm(x)))), and one more norm. A block has the
/// parameters of PyTorch's TransformerEncoderLayer, 4 width^2 + 2 width hidden + 9 width + hidden.
///
/// Features: the one named, and "label" i64 [n] (not in predict mode); predictions and metric as
/// lenet(). Error: options out of range, a feature that is not as above, more places than
/// `longest`; when the step runs, a token outside 0..vocabulary-1, or a length outside 0..t.
ModelFn transformer(TransformerOptions options = {});

/// The blocks and the last norm alone: x [n, t, width] -> the same shape. `mask` as
/// MultiHeadAttentionOptions::mask, for example padding_mask(), or undefined. Options that are
/// about what comes before and behind are not looked at.
Tensor transformer_encoder(const Scope& s, Tensor x, Tensor mask, Mode mode,
                           const TransformerOptions& options);

}  // namespace belfry::models
