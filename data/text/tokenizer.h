#pragma once
// Text as tokens, the numbers that language models read and write.

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace belfry::data {

struct TokenizerContent;

/// Options of Tokenizer::encode.
struct EncodeOptions {
  /// Puts the special tokens around the text that the file's TemplateProcessing says, such as one
  /// that begins a text.
  bool add_special_tokens = false;
};

/// Options of Tokenizer::decode.
struct DecodeOptions {
  bool skip_special_tokens = false;  ///< leaves out tokens for which is_special() is true
};

/// Byte pair encoding of bytes, as GPT-2, Llama 3 and Qwen2 have it, from the `tokenizer.json` of
/// the Python package `tokenizers`: with the same file, encode() and decode() give what that gives.
///
/// A file may have: a model BPE; a pre_tokenizer ByteLevel, or a Sequence of Split and ByteLevel
/// with the regular expression of GPT-2, Llama 3 or Qwen2; a normalizer NFC; a decoder ByteLevel;
/// added tokens with any flags; a post_processor. Everything else is an Error.
///
/// Cheap to copy. Thread rules: copies of one tokenizer, and one itself, may be used by any number
/// of threads.
class Tokenizer {
 public:
  /// Reads a file. Error naming it and the place in it: it is no JSON, a key is there twice, a part
  /// is not supported; a token's number is below 0, not below 2^22, or another's too; a merge of
  /// tokens that are not in the vocabulary.
  static Tokenizer load(const std::string& path);
  /// The same, from the content of a file that errors call `name`.
  static Tokenizer from_json(std::string_view json, std::string name = "tokenizer.json");

  /// The tokens of a text. Tokens that the file lists in `added_tokens`, among them special ones,
  /// are found in the text as they stand there. Error: the text is not UTF-8; add_special_tokens,
  /// and the file has a post_processor of a kind that is not supported.
  std::vector<std::int32_t> encode(std::string_view text, EncodeOptions options = {}) const;

  /// The text of tokens, in UTF-8. Tokens may end within a character; U+FFFD stands for what is
  /// none: join bytes() to get the text piece by piece. Error: a number that is no token.
  std::string decode(std::span<const std::int32_t> tokens, DecodeOptions options = {}) const;

  /// The bytes that a token stands for, which live as long as this tokenizer and its copies. Error:
  /// the number is no token.
  std::string_view bytes(std::int32_t token) const;

  /// One more than the largest token, the rows that a model's embedding needs at least. Files may
  /// leave out numbers below it.
  std::int64_t size() const;

  /// The token with this name in the file, which is the text itself for added tokens such as
  /// "<|endoftext|>"; in other names "Ġ" stands for a space. None: there is no such token.
  std::optional<std::int32_t> token(std::string_view name) const;

  /// Whether a token only marks something, such as the end of a text. Error: the number is no
  /// token.
  bool is_special(std::int32_t token) const;

  const std::string& json() const;  ///< what the tokenizer was made from
  /// Writes json() to a file, whole or not at all. Error, as of write_file_atomically().
  void save(const std::string& path) const;

 private:
  explicit Tokenizer(std::shared_ptr<const TokenizerContent> content)
      : content_(std::move(content)) {}

  std::shared_ptr<const TokenizerContent> content_;
};

/// Options of train_tokenizer.
struct TrainTokenizerOptions {
  /// How many tokens there are at most: the special ones, one for each of the 256 bytes, merges.
  std::int64_t size = 2000;
  std::int64_t min_count = 2;  ///< how often a pair must occur to become one token
  /// The first tokens, from 0 on. They are found in texts as they stand.
  std::vector<std::string> special_tokens = {};
};

/// A tokenizer for texts like these, with GPT-2's words. The pair of tokens that is most frequent
/// becomes a token, time and again; of equally frequent pairs that of the smaller tokens does. The
/// same texts give the same tokens, and those that the package's BpeTrainer gives with ByteLevel
/// and its alphabet. Error: a text is not UTF-8; a size below 256 and the number of special tokens,
/// or above 2^22; a special token that is empty, there twice, longer than 1024 bytes or not UTF-8.
///@{
Tokenizer train_tokenizer(std::span<const std::string> texts,
                          const TrainTokenizerOptions& options = {});
Tokenizer train_tokenizer(std::string_view text, const TrainTokenizerOptions& options = {});
///@}

}  // namespace belfry::data
