#include <gmock/gmock.h>

#include "../../framework/base/error_of.h"
#include "../../framework/base/temporary_folder.h"
#include "small_tokenizer.h"

namespace belfry::data {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

// The bytes of the tokens from 256 on.
std::vector<std::string> learnt(const Tokenizer& t, std::int32_t from = 256) {
  std::vector<std::string> out;
  for (std::int32_t token = from; token < t.size(); ++token) out.emplace_back(t.bytes(token));
  return out;
}

// "ab" occurs 4 times, " ab" then 3 times; "c" follows each of them once.
TEST(TrainTokenizer, TheMostFrequentPairIsMergedFirst) {
  EXPECT_THAT(learnt(train_tokenizer("abc abc ab ab", {.size = 300})), ElementsAre("ab", " ab"));
  EXPECT_THAT(learnt(train_tokenizer("abc abc ab ab", {.size = 300, .min_count = 1})),
              ElementsAre("ab", " ab", "abc", " abc"));
  EXPECT_THAT(learnt(train_tokenizer("abc abc ab ab", {.size = 257})), ElementsAre("ab"));
  EXPECT_THAT(learnt(train_tokenizer("", {.size = 300})), IsEmpty());
}

// " a" occurs twice; of those that occur once, tokens decide: "b" and "c" are below " a".
TEST(TrainTokenizer, OfEquallyFrequentPairsThatOfSmallerTokensIsMergedFirst) {
  const std::vector<std::string> texts{"ba ab", "ca ac"};
  EXPECT_THAT(learnt(train_tokenizer(texts, {.size = 300, .min_count = 1})),
              ElementsAre(" a", "ba", "ca", " ab", " ac"));
}

// By a program of 20 lines that counts all pairs anew for each merge.
TEST(TrainTokenizer, WordsOfEnglish) {
  const Tokenizer t =
      train_tokenizer("the cat sat on the mat; the cat's hat, that cat. 2024 2025", {.size = 280});
  EXPECT_THAT(learnt(t),
              ElementsAre("at", "th", "cat", " th", " cat", "02", "202", " 202", " the"));
  EXPECT_EQ(t.decode(t.encode("the cat's 2026 \u00e9\n")), "the cat's 2026 \u00e9\n");
  EXPECT_EQ(t.encode(" the cat").size(), 2u);
}

// "aaaa" has three pairs "aa", " aaa" two.
TEST(TrainTokenizer, PairsThatOverlap) {
  EXPECT_THAT(learnt(train_tokenizer("aaaa aaa", {.size = 300, .min_count = 1})),
              ElementsAre("aa", " aa", "aaaa", " aaa"));
}

TEST(TrainTokenizer, BytesAreInTheOrderOfTheirSymbols) {
  const Tokenizer t = train_tokenizer("", {.size = 256});
  EXPECT_EQ(t.size(), 256);
  EXPECT_EQ(t.bytes(0), "!");      // U+0021
  EXPECT_EQ(t.bytes(93), "~");     // U+007E
  EXPECT_EQ(t.bytes(94), "\xa1");  // U+00A1
  EXPECT_EQ(t.bytes(187), "\xff");
  EXPECT_EQ(t.bytes(188), std::string(1, '\0'));  // U+0100
  EXPECT_EQ(t.bytes(220), " ");                   // U+0120
  EXPECT_EQ(t.bytes(255), "\xad");                // U+0143
}

TEST(TrainTokenizer, SpecialTokensAreTheFirst) {
  const Tokenizer t =
      train_tokenizer("abab", {.size = 259, .min_count = 1, .special_tokens = {"<end>", "\"\n"}});
  EXPECT_EQ(t.token("<end>"), 0);
  EXPECT_EQ(t.token("\"\n"), 1);
  EXPECT_TRUE(t.is_special(0));
  EXPECT_FALSE(t.is_special(2));
  EXPECT_THAT(learnt(t, 258), ElementsAre("ab"));
  EXPECT_THAT(t.encode("ab<end>\"\n"), ElementsAre(258, 0, 1));
}

TEST(TrainTokenizer, TheFileGivesTheSameTokens) {
  TemporaryFolder folder;
  const std::string text = "some text, \u00e9\u4e2d some more text";
  const Tokenizer t = train_tokenizer(text, {.size = 300, .special_tokens = {"<end>"}});
  t.save(folder / "tokenizer.json");
  const Tokenizer again = Tokenizer::load(folder / "tokenizer.json");
  EXPECT_EQ(again.json(), t.json());
  EXPECT_EQ(again.encode(text + "<end>"), t.encode(text + "<end>"));
  EXPECT_EQ(train_tokenizer(text, {.size = 300, .special_tokens = {"<end>"}}).json(), t.json());
}

TEST(TrainTokenizer, Errors) {
  auto error = [](const TrainTokenizerOptions& options) {
    return error_of([&] { train_tokenizer("text", options); });
  };
  EXPECT_EQ(error({.size = 255}),
            "train_tokenizer: size is 255; it must be at least 256 for bytes and 0 for special "
            "tokens, and at most 4194304");
  EXPECT_EQ(error({.size = 256, .special_tokens = {"a"}}),
            "train_tokenizer: size is 256; it must be at least 256 for bytes and 1 for special "
            "tokens, and at most 4194304");
  EXPECT_EQ(error({.size = 4194305}),
            "train_tokenizer: size is 4194305; it must be at least 256 for bytes and 0 for special "
            "tokens, and at most 4194304");
  EXPECT_EQ(error({.special_tokens = {"a", ""}}),
            "train_tokenizer: special_tokens[1] must be 1 to 1024 bytes of UTF-8");
  EXPECT_EQ(error({.special_tokens = {"\xff"}}),
            "train_tokenizer: special_tokens[0] must be 1 to 1024 bytes of UTF-8");
  EXPECT_EQ(error({.special_tokens = {"a", "b", "a"}}),
            "train_tokenizer: special_tokens has `a` twice");
  const std::vector<std::string> texts{"good", "b\xe9"};
  EXPECT_EQ(error_of([&] { train_tokenizer(texts); }),
            "train_tokenizer: text 1 is not UTF-8 at byte 1 of 2; convert it first");
  EXPECT_EQ(error_of([&] { train_tokenizer("\xe9"); }),
            "train_tokenizer: the text is not UTF-8 at byte 0 of 1; convert it first");
}

}  // namespace
}  // namespace belfry::data
