#include "belfry/data/formats/images/bmp.h"

#include "../bmp_bytes.h"
#include "pipeline.h"

namespace belfry::data {
namespace {

using namespace std::string_literals;
using ::testing::HasSubstr;
using Bytes = std::vector<std::uint8_t>;

Array decode(const std::string& file) {
  return decode_bmp(as_bytes(file), image_size(as_bytes(file), "a.bmp"), "a.bmp");
}

Array decode(const BmpFixture& fixture) { return decode(bmp(fixture)); }

std::string error(const std::string& file) {
  return error_of([&] { decode(file); });
}

// A palette of `count` colours, each stored blue first: (1, 2, 3), (4, 5, 6), (7, 8, 9), ...
std::string colours(int count) {
  std::string out;
  for (int i = 0; i < count; ++i)
    out += number(static_cast<unsigned>((3 * i + 3) << 16 | (3 * i + 2) << 8 | (3 * i + 1)), 4);
  return out;
}

// Pixels of colours(), by their numbers.
Array of_colours(std::int64_t h, std::int64_t w, const Bytes& indices) {
  Bytes values;
  for (int i : indices)
    for (int c : {3, 2, 1}) values.push_back(static_cast<std::uint8_t>(3 * i + c));
  return pixels({h, w, 3}, values);
}

TEST(Bmp, ColoursOf24And32Bits) {
  BmpFixture file{.h = 2, .w = 1, .pixels = "\3\2\1\0\6\5\4\0"s};
  const Array upwards = pixels({2, 1, 3}, {4, 5, 6, 1, 2, 3});
  EXPECT_TRUE(identical(decode(file), upwards));
  for (unsigned header : {12, 40, 52, 56, 64, 108, 124}) {
    file.header = header;
    EXPECT_TRUE(identical(decode(file), upwards)) << header;
  }
  EXPECT_TRUE(identical(decode({.h = -2, .w = 1, .pixels = "\3\2\1\0\6\5\4\0"s}),
                        pixels({2, 1, 3}, {1, 2, 3, 4, 5, 6})));
  // The fourth byte is no alpha.
  EXPECT_TRUE(identical(decode({.w = 2, .bits = 32, .pixels = "\3\2\1\x09\6\5\4\0"s}),
                        pixels({1, 2, 3}, {1, 2, 3, 4, 5, 6})));
}

TEST(Bmp, SixteenBitsAreScaled) {
  // Red 31, green 1, blue 12 of 31.
  EXPECT_TRUE(identical(decode({.bits = 16, .pixels = number(31 << 10 | 1 << 5 | 12, 4)}),
                        pixels({1, 1, 3}, {255, 8, 98})));
  // Green 63, and 13 of 63.
  BmpFixture file{.w = 2, .bits = 16, .compression = 3, .masks = {0xf800, 0x7e0, 0x1f}};
  file.pixels = number(63 << 5, 2) + number(1 << 11 | 13 << 5 | 30, 2);
  const Array expected = pixels({1, 2, 3}, {0, 255, 0, 8, 52, 246});
  for (unsigned header : {40, 52, 56, 108, 124}) {
    file.header = header;
    EXPECT_TRUE(identical(decode(file), expected)) << header;
  }
}

TEST(Bmp, AlphaIsWhatAMaskSaysSo) {
  BmpFixture file{.bits = 32,
                  .compression = 3,
                  .masks = {0xff, 0xff00, 0xff0000, 0xff000000},
                  .pixels = "\1\2\3\4"};
  for (unsigned header : {56, 108, 124}) {
    file.header = header;
    EXPECT_TRUE(identical(decode(file), pixels({1, 1, 4}, {1, 2, 3, 4}))) << header;
  }
  file.masks.pop_back();
  EXPECT_TRUE(identical(decode(file), pixels({1, 1, 3}, {1, 2, 3})));
  file.header = 40;
  EXPECT_TRUE(identical(decode(file), pixels({1, 1, 3}, {1, 2, 3})));
  // Ten bits a colour, two of alpha.
  file.header = 108;
  file.masks = {0x3ff00000, 0xffc00, 0x3ff, 0xc0000000};
  file.pixels = number(std::uint64_t{2} << 30 | 1023u << 20 | 512u << 10 | 3, 4);
  EXPECT_TRUE(identical(decode(file), pixels({1, 1, 4}, {255, 127, 0, 170})));
}

TEST(Bmp, Palettes) {
  EXPECT_TRUE(identical(
      decode({.h = 2, .w = 9, .bits = 1, .palette = colours(2), .pixels = "\xa5\x80\0\0\0\0\0\0"s}),
      of_colours(2, 9, {0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 1, 0, 0, 1, 0, 1, 1})));
  EXPECT_TRUE(
      identical(decode({.w = 3, .bits = 4, .palette = colours(16), .pixels = "\x1f\x70\0\0"s}),
                of_colours(1, 3, {1, 15, 7})));
  BmpFixture bytes{.w = 3, .bits = 8, .palette = colours(4), .used = 4, .pixels = "\3\0\2\0"s};
  EXPECT_TRUE(identical(decode(bytes), of_colours(1, 3, {3, 0, 2})));
  bytes.pixels = "\3\4\2\0"s;  // beyond the palette
  EXPECT_TRUE(identical(decode(bytes), pixels({1, 3, 3}, {12, 11, 10, 0, 0, 0, 9, 8, 7})));
  // OS/2's have three bytes a colour.
  EXPECT_TRUE(identical(
      decode({.w = 2, .bits = 1, .header = 12, .palette = "\1\2\3\4\5\6", .pixels = "\x40\0\0\0"s}),
      of_colours(1, 2, {0, 1})));
}

TEST(Bmp, PalettesOfGreysAreGrey) {
  const std::string greys = number(0x202020, 4) + number(0xfefefe, 4);
  EXPECT_TRUE(identical(decode({.w = 2, .bits = 1, .palette = greys, .pixels = "\x40\0\0\0"s}),
                        pixels({1, 2, 1}, {0x20, 0xfe})));
}

TEST(Bmp, RunLengthsOfBytes) {
  BmpFixture file{.h = 3, .w = 5, .bits = 8, .compression = 1, .palette = colours(16), .used = 16};
  // From below: a run of two and three as they are; over one and up by one, then to the row's end.
  file.pixels = "\2\7\0\3\1\2\3\0\0\0"s + "\1\1\0\2\1\1"s + "\3\x09\0\0\0\1"s;
  EXPECT_TRUE(identical(decode(file), of_colours(3, 5,
                                                 {0, 0, 9, 9, 9,  //
                                                  1, 0, 0, 0, 0,  //
                                                  7, 7, 1, 2, 3})));
  file.pixels = "\5\2\0\0\5\3\0\0\5\4"s;  // nothing behind the last pixel
  EXPECT_THAT(error(bmp(file)), HasSubstr("a.bmp: truncated: "));
  file.pixels += "\0\0"s;
  EXPECT_TRUE(
      identical(decode(file), of_colours(3, 5, {4, 4, 4, 4, 4, 3, 3, 3, 3, 3, 2, 2, 2, 2, 2})));
}

TEST(Bmp, RunLengthsOfHalfBytes) {
  BmpFixture file{.h = 2, .w = 5, .bits = 4, .compression = 2, .palette = colours(16)};
  // Runs alternate between two; five as they are take three bytes and one more.
  file.pixels = "\5\x12\0\0"s + "\0\5\x34\x56\x70\0\0\1"s;
  EXPECT_TRUE(identical(decode(file), of_colours(2, 5, {3, 4, 5, 6, 7, 1, 2, 1, 2, 1})));
}

TEST(Bmp, RunsThatLeaveTheImageAreAnError) {
  BmpFixture file{.h = 2, .w = 5, .bits = 8, .compression = 1, .palette = colours(1), .used = 1};
  const std::string message =
      "a.bmp: damaged BMP data: compressed pixels before byte 60 leave the image of 2 x 5";
  file.pixels = "\6\0\0\1"s;
  EXPECT_EQ(error(bmp(file)), message);
  for (const std::string& moved : {"\0\2\5\0\1\0\0\1"s, "\0\2\4\1\2\0\0\1"s}) {
    file.pixels = moved;
    EXPECT_THAT(error(bmp(file)), HasSubstr(" leave the image of 2 x 5"));
  }
}

TEST(Bmp, EveryTruncationIsAnError) {
  for (const BmpFixture& fixture :
       {BmpFixture{},
        {.header = 12},
        {.bits = 1, .palette = colours(2)},
        {.bits = 32, .compression = 3, .header = 124, .masks = {0xff, 0xff00, 0xff0000}},
        {.bits = 8, .compression = 1, .palette = colours(256), .pixels = "\1\0\0\1"s}}) {
    const std::string file = bmp(fixture);
    ASSERT_EQ(error(file), "no error");
    for (std::size_t length = 2; length < file.size(); ++length)
      EXPECT_THAT(error(file.substr(0, length)), HasSubstr("a.bmp: truncated: ")) << length;
  }
}

TEST(Bmp, RefusesOtherKinds) {
  EXPECT_EQ(error(bmp({.header = 41})),
            "a.bmp: BMP data with a header of 41 bytes, expected 12, 40, 52, 56, 64, 108 or 124");
  auto kind = [](unsigned bits, unsigned compression) {
    return error(bmp({.bits = bits, .compression = compression}));
  };
  EXPECT_EQ(kind(2, 0),
            "a.bmp: BMP data of 2 bits a pixel with compression 0, expected 1, 4, 8, 16, 24 or 32 "
            "bits with none (0), RLE8 (1), RLE4 (2) or masks (3)");
  for (auto [bits, compression] : {std::pair(0u, 4u),
                                   {24u, 1u},
                                   {4u, 1u},
                                   {8u, 2u},
                                   {24u, 3u},
                                   {24u, 4u},
                                   {0u, 5u},
                                   {32u, 6u}})
    EXPECT_THAT(kind(bits, compression), HasSubstr("a.bmp: BMP data of "));
}

TEST(Bmp, MasksAreRunsOfBits) {
  auto with = [](std::vector<unsigned> masks) {
    return error(bmp({.bits = 16, .compression = 3, .header = 56, .masks = std::move(masks)}));
  };
  EXPECT_EQ(with({0xf800, 0x7e0, 0x1f, 0}), "no error");
  EXPECT_EQ(with({0xf800, 0x7e0, 0x15, 0}),
            "a.bmp: damaged BMP data: the mask 21 is no run of bits in a pixel of 16");
  EXPECT_THAT(with({0xf800, 0, 0x1f, 0}), HasSubstr("the mask 0 is no run"));
  EXPECT_THAT(with({0x1f800, 0x7e0, 0x1f, 0}), HasSubstr("the mask 129024 is no run"));
  EXPECT_THAT(with({0xf800, 0x7e0, 0x1f, 0x50000000}), HasSubstr("the mask 1342177280 is no run"));
}

}  // namespace
}  // namespace belfry::data
