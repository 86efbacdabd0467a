#include "belfry/data/text/added_tokens.h"

#include <gtest/gtest.h>

#include "belfry/framework/base/text.h"

namespace belfry::data {
namespace {

// Tokens as {3}, the parts between them as they are, with bars between.
std::string split(const std::vector<AddedToken>& tokens, std::string_view text) {
  std::vector<std::string> out;
  TokenFinder(tokens).split(
      text, [&](std::string_view part) { out.emplace_back(part); },
      [&](std::int32_t token) { out.push_back(concat("{", token, "}")); });
  return join(out, "|");
}

TEST(AddedTokens, AreFoundAnywhere) {
  const std::vector<AddedToken> tokens{{.token = 1, .content = "<s>"},
                                       {.token = 2, .content = "<s>>"},
                                       {.token = 3, .content = "\u00e9"}};
  EXPECT_EQ(split(tokens, "a<s>b\u00e9"), "a|{1}|b|{3}");
  EXPECT_EQ(split(tokens, "<s><s>>>"), "{1}|{2}|>");  // the longest
  EXPECT_EQ(split(tokens, "<s"), "<s");
  EXPECT_EQ(split(tokens, ""), "");
  EXPECT_EQ(split({}, "a<s>"), "a<s>");
}

TEST(AddedTokens, TheNextOneBeginsBehindTheLast) {
  const std::vector<AddedToken> tokens{{.token = 1, .content = "aba"},
                                       {.token = 2, .content = "ba"}};
  EXPECT_EQ(split(tokens, "ababa"), "{1}|{2}");
  EXPECT_EQ(split(tokens, "xbaba"), "x|{2}|{2}");
}

TEST(AddedTokens, OfEqualContentsTheFirstCounts) {
  EXPECT_EQ(split({{.token = 1, .content = "a"}, {.token = 2, .content = "a"}}, "a"), "{1}");
}

TEST(AddedTokens, SingleWords) {
  const std::vector<AddedToken> tokens{{.token = 1, .content = "do", .single_word = true}};
  EXPECT_EQ(split(tokens, "do, redo dot do"), "{1}|, redo dot |{1}");
  EXPECT_EQ(split(tokens, "\u00e9do do\u0301 _do do5 -do-"), "\u00e9do do\u0301 _do do5 -|{1}|-");
  // Behind one that is refused the search goes on, not within it.
  EXPECT_EQ(
      split({{.token = 1, .content = "aa", .single_word = true}, {.token = 2, .content = "a"}},
            "aaa"),
      "aa|{2}");
}

TEST(AddedTokens, WhiteSpaceIsTakenAlong) {
  EXPECT_EQ(split({{.token = 1, .content = "x", .lstrip = true}}, "a \n\u3000x b"), "a|{1}| b");
  EXPECT_EQ(split({{.token = 1, .content = "x", .rstrip = true}}, "a x \n\u3000b"), "a |{1}|b");
  const std::vector<AddedToken> both{{.token = 1, .content = "x", .lstrip = true, .rstrip = true}};
  EXPECT_EQ(split(both, " x  x x"), "{1}|{1}|{1}");
  EXPECT_EQ(split(both, "\u200bx"), "\u200b|{1}");
}

// As the package does: a token of white space is found although it has been taken along; what is
// behind it is text again. One that takes along to the left has nothing to be made of.
TEST(AddedTokens, TokensOfWhiteSpaceThatIsTakenAlong) {
  std::vector<AddedToken> tokens{{.token = 1, .content = "<s>", .rstrip = true},
                                 {.token = 2, .content = "\n"}};
  EXPECT_EQ(split(tokens, "<s>\n"), "{1}|{2}");
  EXPECT_EQ(split(tokens, "<s> \n a"), "{1}|{2}| a");
  EXPECT_EQ(split(tokens, "<s>\n\n"), "{1}|{2}|{2}");
  tokens[1].lstrip = true;
  EXPECT_EQ(split(tokens, "<s>\n\na"), "{1}|a");
  EXPECT_EQ(split({{.token = 1, .content = "\n", .rstrip = true}}, "\n\n a"), "{1}|{1}|a");
}

}  // namespace
}  // namespace belfry::data
