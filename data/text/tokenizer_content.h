#pragma once
// The parts of a tokenizer, for the files here.

#include <cstdint>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "belfry/data/text/added_tokens.h"
#include "belfry/data/text/bpe.h"
#include "belfry/data/text/pre_tokens.h"
#include "belfry/data/text/tokenizer.h"

namespace belfry::data {

/// Tokens are below this: a file of a few bytes cannot ask for gigabytes.
inline constexpr std::int64_t most_tokens = std::int64_t{1} << 22;

/// Longer added tokens are refused: finding them takes time in proportion.
inline constexpr std::size_t longest_added_token = 1024;

/// Tokens that a template may put before and behind a text, together.
inline constexpr std::size_t most_tokens_around = 1024;

/// Tokens by their names in the file.
using TokensByName = std::unordered_map<std::string, std::int32_t>;

/// The parts of a tokenizer, which do not change.
struct TokenizerContent {
  enum class Kind : std::uint8_t { none, plain, special };
  struct Word {
    Kind kind = Kind::none;
    std::string bytes = {};
  };

  std::string json = {};
  TokensByName vocabulary = {};  ///< the model's
  TokensByName added = {};       ///< those in `added_tokens`, some of which the model has too
  std::vector<Word> words = {};  ///< by token
  Bpe bpe;
  bool ignore_merges = false;  ///< a word that the vocabulary has is one token
  bool nfc = false;
  WordRule rule = {};
  bool add_prefix_space = false;  ///< each part that begins with none gets one
  TokenFinder as_it_stands{};     ///< the added tokens that are looked for before normalization
  TokenFinder normalized{};       ///< those after
  std::vector<std::int32_t> before = {}, after = {};  ///< special tokens around a text
  std::string not_supported = {};  ///< the type of a post_processor that is not, or nothing

  /// Error, as of Tokenizer::load().
  static TokenizerContent read(std::string_view json, const std::string& name);
};

/// A file for Tokenizer::from_json: tokens by their number, of which the first are special, the
/// pairs of them that are merged, and GPT-2's words.
std::string tokenizer_json(const std::vector<std::string>& names,
                           const std::vector<std::pair<std::int32_t, std::int32_t>>& merges,
                           std::size_t special_tokens);

}  // namespace belfry::data
