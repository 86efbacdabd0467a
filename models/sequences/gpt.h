#pragma once
// Language models: transformers that see what stands before and tell what comes next.

#include <cstdint>
#include <string>

#include "belfry/framework/framework.h"

namespace belfry::models {

/// The parts of a block of gpt().
enum class GptBlock : std::uint8_t {
  gpt2,   ///< layer norm, positions that are learned, one dense layer for queries, keys and values,
          ///< GELU
  llama,  ///< RMS norm, rotary positions, dense layers without biases, SwiGLU
};
constexpr auto names_of(GptBlock) { return name_list("gpt2", "llama"); }

/// Options of gpt(); the defaults are GPT-2's small model.
struct GptOptions {
  std::int64_t vocabulary = 50'257;  ///< number of tokens
  std::int64_t context = 1024;       ///< the longest row, where positions are learned
  std::int64_t depth = 12;           ///< blocks
  std::int64_t width = 768;          ///< of each place
  std::int64_t heads = 12;           ///< of attention; must divide the width
  std::int64_t kv_heads = 0;         ///< of keys and values (llama); must divide heads; 0: as many
  std::int64_t hidden = 0;           ///< units between a block's dense layers; 0: 4 width
  GptBlock block = GptBlock::gpt2;   ///< what blocks are made of
  bool tied = true;                  ///< logits are products with the table of tokens
  double epsilon = 0;                ///< of norms; 0: 1e-5 (gpt2) or 1e-6 (llama)
  double rotary_base = 10'000;       ///< RotaryOptions::base (llama)
  float dropout = 0.1f;  ///< of embeddings, attention's weights and what blocks add, in [0, 1)
  std::string token = "token";  ///< feature with tokens, i32 or i64 [n, t]
  std::string label = "label";  ///< feature with the tokens that come next, [n, t]; -1: not counted
  /// Feature with the place of each token, i32 or i64 [n, t], which batches may have: see gpt().
  std::string position = "position";
  /// Feature with the tokens of each row that count, i32 or i64 [n], which batches of predictions
  /// may have; others follow them.
  std::string length = "length";
  Optimizer optimizer = adamw({.learning_rate = 3e-4});  ///< of all variables
  BELFRY_FIELDS(vocabulary, context, depth, width, heads, kv_heads, hidden, block, tied, epsilon,
                rotary_base, dropout, token, label, position, length, optimizer)
};

/// Blocks of x + attention(norm(x)) and x + dense(...norm(x)), attention being causal, one more
/// norm, and logits of the token that comes next (Radford et al., "Language models are unsupervised
/// multitask learners", 2019; Touvron et al., "LLaMA", 2023). GPT-2's small model has 124,439,808
/// parameters.
///
/// The loss is the mean of the cross-entropy over tokens that count, in nats. Metrics:
/// "loss_per_token", and "perplexity", its exponential. Predictions, for the place behind a row:
/// "logits" f32 [n, vocabulary] and "next" i64 [n], the likeliest token.
///
/// Rows of several documents (data::pack) have `position`, which counts from 0 in each document:
/// no token sees another document.
///
/// Predictions that go on from earlier ones, as generate() makes them, have the features of
/// gpt_step_inputs(): `position` says where the tokens stand, each of a row elsewhere,
/// "past_keys0", "past_values0" and so on hold what blocks have computed for the tokens before
/// them, and finite numbers, say zeros, in places that nobody has written. The predictions then
/// have "keys0", "values0" and so on, the same with these tokens.
///
/// Error: options out of range, features that are not as above, a row longer than `context`; when
/// the step runs, a token or label that is none, a position or length out of range.
ModelFn gpt(GptOptions options = {});

/// The inputs of a prediction that goes on, for one row: `tokens` tokens, and the keys and values
/// of at most `places` tokens in all, [places, kv_heads, width / heads] a block. For
/// ExportSignature::inputs, too.
Signature gpt_step_inputs(const GptOptions& options, std::int64_t tokens, std::int64_t places);

}  // namespace belfry::models
