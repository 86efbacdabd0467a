#include "belfry/data/text/unicode.h"

#include <gmock/gmock.h>

#include <vector>

namespace belfry::data {
namespace {

using ::testing::ElementsAre;

TEST(Unicode, CharactersAndTheirBytes) {
  const std::string text = "a\u00e9\u20ac\U0001f600";
  std::vector<std::size_t> bytes;
  std::u32string codes;
  for (std::size_t at = 0; at < text.size();) {
    Character next = first_character(std::string_view(text).substr(at));
    codes += next.code;
    bytes.push_back(next.bytes);
    at += next.bytes;
    Character last = last_character(std::string_view(text).substr(0, at));
    EXPECT_EQ(last.code, next.code);
    EXPECT_EQ(last.bytes, next.bytes);
  }
  EXPECT_EQ(codes, U"a\u00e9\u20ac\U0001f600");
  EXPECT_THAT(bytes, ElementsAre(1, 2, 3, 4));
  std::string again;
  for (char32_t code : codes) append_utf8(again, code);
  EXPECT_EQ(again, text);
}

TEST(Unicode, Utf8EndsWhereItIsNotWellFormed) {
  EXPECT_EQ(utf8_prefix(""), 0u);
  EXPECT_EQ(utf8_prefix("a\u00e9\u20ac\U0010ffff"), 10u);
  EXPECT_EQ(utf8_prefix("ab\xff"), 2u);
  EXPECT_EQ(utf8_prefix("ab\xe2\x82"), 2u);        // cut off
  EXPECT_EQ(utf8_prefix("\xc0\x80"), 0u);          // overlong
  EXPECT_EQ(utf8_prefix("\xe0\x9f\xbf"), 0u);      // overlong
  EXPECT_EQ(utf8_prefix("\xed\xa0\x80"), 0u);      // a surrogate
  EXPECT_EQ(utf8_prefix("\xf0\x8f\xbf\xbf"), 0u);  // overlong
  EXPECT_EQ(utf8_prefix("\xf4\x90\x80\x80"), 0u);  // above U+10FFFF
  EXPECT_EQ(utf8_prefix("\xf5\x80\x80\x80"), 0u);
}

// The examples are those of table 3-8 to 3-11 of the Unicode standard, 16.0.
TEST(Unicode, ReplacementsStandForTheLongestBeginnings) {
  const std::string r = "\ufffd";
  EXPECT_EQ(with_replacements("caf\u00e9"), "caf\u00e9");
  EXPECT_EQ(with_replacements("\xc0\xaf\xe0\x80\xbf\xf0\x81\x82\x41"),
            r + r + r + r + r + r + r + r + "A");
  EXPECT_EQ(with_replacements("\xed\xa0\x80\xed\xbf\xbf\xed\xaf\x41"),
            r + r + r + r + r + r + r + r + "A");
  EXPECT_EQ(with_replacements("\xf4\x91\x92\x93\xff\x41\x80\xbf\x42"),
            r + r + r + r + r + "A" + r + r + "B");
  EXPECT_EQ(with_replacements("\xe1\x80\xe2\xf0\x91\x92\xf1\xbf\x41"), r + r + r + r + "A");
}

TEST(Unicode, Categories) {
  for (char32_t letter : {U'a', U'Z', U'\u00aa', U'\u00e9', U'\u02b0', U'\u05d0', U'\u4e2d',
                          U'\U0001e900', U'\U000323af'})
    EXPECT_TRUE(is_letter(letter)) << std::hex << std::uint32_t{letter};
  // A mark, a digit, a circled letter, an emoji, not assigned, the last code point.
  for (char32_t other :
       {U'\u0301', U'5', U'\u24d0', U'\U0001f600', U'\u0378', U'\U0010ffff', U'@', U'['})
    EXPECT_FALSE(is_letter(other)) << std::hex << std::uint32_t{other};
  for (char32_t number :
       {U'0', U'9', U'\u00b2', U'\u00bd', U'\u0663', U'\u2167', U'\u3007', U'\U0001fbf9'})
    EXPECT_TRUE(is_number(number)) << std::hex << std::uint32_t{number};
  for (char32_t other : {U'/', U':', U'a', U'\u4e00'}) EXPECT_FALSE(is_number(other));
  int spaces = 0;
  for (char32_t code = 0; code < 0x110000; ++code) spaces += is_white_space(code);
  EXPECT_EQ(spaces, 25);  // PropList.txt: "Total code points: 25"
  for (char32_t space :
       {U'\t', U'\n', U'\v', U'\f', U'\r', U' ', U'\u0085', U'\u00a0', U'\u1680', U'\u2000',
        U'\u200a', U'\u2028', U'\u2029', U'\u202f', U'\u205f', U'\u3000'})
    EXPECT_TRUE(is_white_space(space)) << std::hex << std::uint32_t{space};
  EXPECT_FALSE(is_white_space(U'\u200b'));
}

// DerivedGeneralCategory.txt of Unicode 16.0.0: L is 141,028 code points, N 1,911.
TEST(Unicode, Counts) {
  int letters = 0, numbers = 0;
  for (char32_t code = 0; code < 0x110000; ++code) {
    letters += is_letter(code);
    numbers += is_number(code);
    EXPECT_FALSE(is_letter(code) && (is_number(code) || is_white_space(code)));
  }
  EXPECT_EQ(letters, 141028);
  EXPECT_EQ(numbers, 1911);
}

TEST(Unicode, WordCharacters) {
  for (char32_t word : {U'a', U'_', U'5', U'\u0301', U'\u200d', U'\u203f', U'\u24d0', U'\u2167'})
    EXPECT_TRUE(is_word_character(word)) << std::hex << std::uint32_t{word};
  for (char32_t other : {U' ', U'-', U'\'', U'\u00b2', U'\u200b', U'\U0001f600'})
    EXPECT_FALSE(is_word_character(other)) << std::hex << std::uint32_t{other};
}

}  // namespace
}  // namespace belfry::data
