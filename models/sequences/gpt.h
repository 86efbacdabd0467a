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
  float dropout = 0.1f;  ///< of embeddings, attention's weights and what blocks add, in [0, 1)
  std::string token = "token";  ///< feature with tokens, i32 or i64 [n, t]
  std::string label = "label";  ///< feature with the tokens that come next, [n, t]; -1: not counted
  Optimizer optimizer = adamw({.learning_rate = 3e-4});  ///< of all variables
  BELFRY_FIELDS(vocabulary, context, depth, width, heads, kv_heads, hidden, block, tied, dropout,
                token, label, optimizer)
};

/// Blocks of x + attention(norm(x)) and x + dense(...norm(x)), attention being causal, one more
/// norm, and logits of the token that comes next (Radford et al., "Language models are unsupervised
/// multitask learners", 2019; Touvron et al., "LLaMA", 2023). GPT-2's small model has 124,439,808
/// parameters.
///
/// The loss is the mean of the cross-entropy over tokens that count, in nats. Metrics:
/// "loss_per_token", and "perplexity", its exponential. Predictions, for the place behind a row:
/// "logits" f32 [n, vocabulary] and "next" i64 [n], the likeliest token. Error: options out of
/// range, features that are not as above, a row longer than `context`; when the step runs, a token
/// or label that is none.
ModelFn gpt(GptOptions options = {});

}  // namespace belfry::models
