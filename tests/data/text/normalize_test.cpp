#include "belfry/data/text/normalize.h"

#include <gtest/gtest.h>

namespace belfry::data {
namespace {

// Examples of section 3.11 of the Unicode standard and of UAX #15.
TEST(Normalize, ComposesAndOrders) {
  EXPECT_EQ(nfc(""), "");
  EXPECT_EQ(nfc("plain"), "plain");
  EXPECT_EQ(nfc("e\u0301"), "\u00e9");
  EXPECT_EQ(nfc("\u00e9"), "\u00e9");
  EXPECT_EQ(nfc("A\u030a \u212b"), "\u00c5 \u00c5");  // the angstrom sign
  // s, a dot above, a dot below: that below comes first.
  EXPECT_EQ(nfc("s\u0307\u0323"), "\u1e69");
  EXPECT_EQ(nfc("\u1e9b\u0323"), "\u1e9b\u0323");
  EXPECT_EQ(nfc("\u1e0b\u0323"), "\u1e0d\u0307");
  EXPECT_EQ(nfc("q\u0307\u0323"), "q\u0323\u0307");
  EXPECT_EQ(nfc("\u0301a"), "\u0301a");  // nothing before it
}

TEST(Normalize, AMarkBetweenOfTheSameClassBlocks) {
  // A ring above and an acute are of class 230, a cedilla of 202.
  EXPECT_EQ(nfc("a\u0327\u0301"), "\u00e1\u0327");
  EXPECT_EQ(nfc("a\u030b\u0301"), "a\u030b\u0301");
  EXPECT_EQ(nfc("a\u034f\u0301"), "a\u034f\u0301");  // the grapheme joiner, of class 0
}

TEST(Normalize, Hangul) {
  EXPECT_EQ(nfc("\u1100\u1161"), "\uac00");
  EXPECT_EQ(nfc("\u1100\u1161\u11a8"), "\uac01");
  EXPECT_EQ(nfc("\uac00\u11a8"), "\uac01");
  EXPECT_EQ(nfc("\uac01\u11a8"), "\uac01\u11a8");  // it has a tail
  EXPECT_EQ(nfc("\ud7a3"), "\ud7a3");
  EXPECT_EQ(nfc("\u1112\u1175\u11c2"), "\ud7a3");
  EXPECT_EQ(nfc("\u1100\u11a8"), "\u1100\u11a8");
}

TEST(Normalize, SomeAreDecomposedForGood) {
  EXPECT_EQ(nfc("\u0958"), "\u0915\u093c");  // a composition that is excluded
  EXPECT_EQ(nfc("\u09df"), "\u09af\u09bc");
  EXPECT_EQ(nfc("\u0344"), "\u0308\u0301");  // marks
  EXPECT_EQ(nfc("\uf900"), "\u8c48");        // ideographs, the first and the last
  EXPECT_EQ(nfc("\ufad9"), "\u9f8e");
  EXPECT_EQ(nfc("\ufa0e"), "\ufa0e");  // one that stays
  EXPECT_EQ(nfc("\U0002f800\U0002fa1d"), "\u4e3d\U0002a600");
  EXPECT_EQ(nfc("\u2126"), "\u03a9");              // the ohm sign
  EXPECT_EQ(nfc("\ufb01\u00b2"), "\ufb01\u00b2");  // compatibility is no matter of form C
}

TEST(Normalize, CharactersAfterUnicode9Stay) {
  // U+0D3B is of class 9 since Unicode 10; a mark of class 9 would come before one of 230.
  EXPECT_EQ(nfc("\u0d15\u0301\u0d3b"), "\u0d15\u0301\u0d3b");
  EXPECT_EQ(nfc("\u0d15\u0301\u0d4d"), "\u0d15\u0d4d\u0301");
}

}  // namespace
}  // namespace belfry::data
