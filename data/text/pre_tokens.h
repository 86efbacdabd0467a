#pragma once
// Words for byte pair encoding: the cuts that regular expressions of well-known tokenizers make,
// without regular expressions.

#include <cstddef>
#include <optional>
#include <string_view>

namespace belfry::data {

/// How text is cut into words, within which tokens are merged. Each part of a text belongs to one.
enum class WordPattern {
  none,   ///< all of a text is one word
  gpt2,   ///< GPT-2's
  llama3  ///< Llama 3's, which is that of cl100k_base too; and, with one digit a number, Qwen2's
};

/// A pattern, and how many digits a word has at most: 3 for Llama 3, 1 for Qwen2. GPT-2 has no
/// limit.
struct WordRule {
  WordPattern pattern = WordPattern::none;
  std::size_t digits = 0;
};

/// The rule of a regular expression, if it is one of those known, letter for letter.
std::optional<WordRule> word_rule_of(std::string_view regular_expression);

/// The bytes of the word that `text` begins with. The text is not empty and well-formed UTF-8. All
/// words of a text take time in proportion to its length.
std::size_t word_length(const WordRule& rule, std::string_view text);

}  // namespace belfry::data
