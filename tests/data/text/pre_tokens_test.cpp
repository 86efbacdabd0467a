#include "belfry/data/text/pre_tokens.h"

#include <gmock/gmock.h>

#include <string>
#include <vector>

namespace belfry::data {
namespace {

using ::testing::ElementsAre;

constexpr const char* gpt2 =
    R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)";
constexpr const char* llama3 =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";
constexpr const char* qwen2 =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";

std::vector<std::string> words(const char* pattern, std::string_view text) {
  const WordRule rule = word_rule_of(pattern).value();
  std::vector<std::string> out;
  while (!text.empty()) {
    out.emplace_back(text.substr(0, word_length(rule, text)));
    text.remove_prefix(out.back().size());
  }
  return out;
}

TEST(PreTokens, PatternsAreKnownLetterForLetter) {
  EXPECT_EQ(word_rule_of(gpt2)->pattern, WordPattern::gpt2);
  EXPECT_EQ(word_rule_of(llama3)->digits, 3u);
  EXPECT_EQ(word_rule_of(qwen2)->digits, 1u);
  EXPECT_FALSE(word_rule_of(std::string(gpt2) + " "));
  EXPECT_FALSE(word_rule_of(R"(\s+)"));
  EXPECT_EQ(word_length({}, "all of it"), 9u);
}

TEST(PreTokens, Gpt2TakesOneSpaceAlong) {
  EXPECT_THAT(words(gpt2, "Hello  world 12 ok!?"),
              ElementsAre("Hello", " ", " world", " 12", " ok", "!?"));
  EXPECT_THAT(words(gpt2, " a"), ElementsAre(" a"));
  EXPECT_THAT(words(gpt2, "a1b22"), ElementsAre("a", "1", "b", "22"));
  EXPECT_THAT(words(gpt2, " \u00e9\u4e2d \u00bd\u0663 \u0301-"),
              ElementsAre(" \u00e9\u4e2d", " \u00bd\u0663", " \u0301-"));
}

TEST(PreTokens, Gpt2LeavesTheLastSpaceToWhatFollows) {
  EXPECT_THAT(words(gpt2, "a   b"), ElementsAre("a", "  ", " b"));
  EXPECT_THAT(words(gpt2, "a\n\nb"), ElementsAre("a", "\n", "\n", "b"));
  EXPECT_THAT(words(gpt2, "a\t b\tc"), ElementsAre("a", "\t", " b", "\t", "c"));
  EXPECT_THAT(words(gpt2, "a \u3000\u00a0b"), ElementsAre("a", " \u3000", "\u00a0", "b"));
  EXPECT_THAT(words(gpt2, "a \n "), ElementsAre("a", " \n "));
  EXPECT_THAT(words(gpt2, " "), ElementsAre(" "));
}

TEST(PreTokens, Gpt2ContractionsAreInLowerCaseAndAtTheFront) {
  EXPECT_THAT(words(gpt2, "we'll they've I'm it's he'd don't you're"),
              ElementsAre("we", "'ll", " they", "'ve", " I", "'m", " it", "'s", " he", "'d", " don",
                          "'t", " you", "'re"));
  EXPECT_THAT(words(gpt2, "'same"), ElementsAre("'s", "ame"));
  EXPECT_THAT(words(gpt2, "IT'S"), ElementsAre("IT", "'", "S"));
  EXPECT_THAT(words(gpt2, " 's !'s"), ElementsAre(" '", "s", " !'", "s"));
  EXPECT_THAT(words(gpt2, "'l 'v 'r'"), ElementsAre("'", "l", " '", "v", " '", "r", "'"));
  EXPECT_THAT(words(gpt2, "'"), ElementsAre("'"));
}

TEST(PreTokens, Llama3TakesAnyOneCharacterAlongWithLetters) {
  EXPECT_THAT(words(llama3, "Hello world\tfoo(bar)\u00a0baz"),
              ElementsAre("Hello", " world", "\tfoo", "(bar", ")", "\u00a0baz"));
  EXPECT_THAT(words(llama3, "a\nb"), ElementsAre("a", "\n", "b"));
  EXPECT_THAT(words(llama3, "\u0301a!!b"), ElementsAre("\u0301a", "!!", "b"));
  EXPECT_THAT(words(llama3, "1a"), ElementsAre("1", "a"));
}

TEST(PreTokens, NumbersHaveThreeDigitsOrOne) {
  EXPECT_THAT(words(llama3, "12345 678"), ElementsAre("123", "45", " ", "678"));
  EXPECT_THAT(words(qwen2, "12 3"), ElementsAre("1", "2", " ", "3"));
  EXPECT_THAT(words(llama3, "1\u00b2\u0663\u2167"), ElementsAre("1\u00b2\u0663", "\u2167"));
}

TEST(PreTokens, Llama3KeepsLineEndsBehindPunctuation) {
  EXPECT_THAT(words(llama3, "a.\r\n\nb !\n c"), ElementsAre("a", ".\r\n\n", "b", " !\n", " c"));
  EXPECT_THAT(words(llama3, "x \n \r\n  y"), ElementsAre("x", " \n \r\n", " ", " y"));
  EXPECT_THAT(words(llama3, "\n\n\n"), ElementsAre("\n\n\n"));
  EXPECT_THAT(words(llama3, "a \t b"), ElementsAre("a", " \t", " b"));
  EXPECT_THAT(words(llama3, "a  1"), ElementsAre("a", " ", " ", "1"));
  EXPECT_THAT(words(llama3, "a \u2028"), ElementsAre("a", " \u2028"));  // no line end here
}

TEST(PreTokens, Llama3ContractionsIgnoreCase) {
  EXPECT_THAT(words(llama3, "WE'LL don'T I'Ve it'S"),
              ElementsAre("WE", "'LL", " don", "'T", " I", "'Ve", " it", "'S"));
  EXPECT_THAT(words(llama3, "a'\u017fb"), ElementsAre("a", "'\u017f", "b"));  // the long s
  EXPECT_THAT(words(llama3, "'hello 'l"), ElementsAre("'hello", " '", "l"));
  EXPECT_THAT(words(gpt2, "a'\u017f"), ElementsAre("a", "'", "\u017f"));
}

}  // namespace
}  // namespace belfry::data
