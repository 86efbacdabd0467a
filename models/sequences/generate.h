#pragma once
// Text from a language model, a token at a time.

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "belfry/framework/framework.h"
#include "belfry/models/sequences/gpt.h"

namespace belfry::models {

/// Options of generate().
struct GenerateOptions {
  std::int64_t tokens = 128;  ///< new ones of each row, at most
  double temperature = 1;     ///< logits are divided by it; 0: the likeliest token, always
  std::int64_t top_k = 0;     ///< draw among so many of the likeliest; 0: all
  /// Draw among the likeliest whose probabilities are together at least this, in (0, 1]
  /// (Holtzman et al., "The curious case of neural text degeneration", ICLR 2020); behind top_k.
  double top_p = 1;
  std::int32_t end = -1;   ///< this token ends a row, as its last; -1: none does
  std::uint64_t seed = 0;  ///< of the draws
  /// Tokens of a prompt that one prediction takes. Each size makes one plan, beside that of single
  /// tokens. 1 for an export that has no other.
  std::int64_t chunk = 64;
  /// Tokens that there is room for; 0: prompt and new tokens, rounded up to a multiple of 64, so
  /// that calls of about the same length share their plans.
  std::int64_t places = 0;
  /// Called with each new token, and its row.
  std::function<void(std::int64_t row, std::int32_t token)> each = {};
};

/// A model that predicts batches: a LivePredictor, a Predictor, or what calls one.
using PredictBatch = std::function<Features(const Features&)>;

/// Goes on from each prompt: the new tokens of each row. Keys and values of the tokens so far are
/// kept (gpt_step_inputs()), so that a token costs one prediction of one place.
///
///   auto model = estimator.predictor();
///   auto written = models::generate(gpt, model, {prompt}, {.temperature = 0.8, .top_k = 40});
///
/// The draws of a row depend on the seed, the row's number and the token's place in the row alone:
/// the same text comes for the same seed wherever predictions have the same bits. Error: an empty
/// prompt, a token outside 0..vocabulary-1, more tokens than `places` or, for gpt2, the model's
/// context; options out of range; what `predict` throws.
std::vector<std::vector<std::int32_t>> generate(
    const GptOptions& model, const PredictBatch& predict,
    const std::vector<std::vector<std::int32_t>>& prompts, const GenerateOptions& options = {});

/// Draws one token by logits, with u uniform in [0, 1): see GenerateOptions for what is left out.
/// Among equal logits the lower token is the likelier one. Error: no logits; one is NaN, or the
/// highest infinite.
std::int32_t sample_token(std::span<const float> logits, double u,
                          const GenerateOptions& options = {});

}  // namespace belfry::models
