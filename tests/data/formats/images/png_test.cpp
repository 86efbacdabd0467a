#include "belfry/data/formats/images/png.h"

#include "../png_bytes.h"
#include "belfry/data/formats/images/image.h"
#include "pipeline.h"

namespace belfry::data {
namespace {

using namespace std::string_literals;
using ::testing::HasSubstr;
using Bytes = std::vector<std::uint8_t>;

// As stored.
Array decode(const std::string& file) {
  return decode_png(as_bytes(file), image_size(as_bytes(file), "a.png"), "a.png");
}

Array decode(const PngFixture& fixture) { return decode(png(fixture)); }

std::string error(const std::string& file) {
  return error_of([&] { decode(file); });
}

// Grey, 2 x 2.
const PngFixture small{.h = 2, .w = 2, .rows = "\0\1\2\0\3\4"s};

TEST(Png, EveryKindOfPixels) {
  EXPECT_TRUE(identical(decode({.w = 2, .rows = "\0\x05\xfa"s}), pixels({1, 2, 1}, {5, 250})));
  EXPECT_TRUE(identical(decode({.w = 2, .colour = 4, .rows = "\0\1\2\3\4"s}),
                        pixels({1, 2, 2}, {1, 2, 3, 4})));
  EXPECT_TRUE(identical(decode({.w = 2, .colour = 2, .rows = "\0\1\2\3\4\5\6"s}),
                        pixels({1, 2, 3}, {1, 2, 3, 4, 5, 6})));
  EXPECT_TRUE(
      identical(decode({.colour = 6, .rows = "\0\1\2\3\4"s}), pixels({1, 1, 4}, {1, 2, 3, 4})));
}

TEST(Png, GreyOfFewBitsIsScaled) {
  EXPECT_TRUE(identical(decode({.w = 9, .bits = 1, .rows = "\0\xa5\x80"s}),
                        pixels({1, 9, 1}, {255, 0, 255, 0, 0, 255, 0, 255, 255})));
  EXPECT_TRUE(identical(decode({.w = 4, .bits = 2, .rows = "\0\x1b"s}),
                        pixels({1, 4, 1}, {0, 85, 170, 255})));
  EXPECT_TRUE(identical(decode({.w = 3, .bits = 4, .rows = "\0\x1f\x70"s}),
                        pixels({1, 3, 1}, {17, 255, 119})));
}

TEST(Png, SixteenBits) {
  EXPECT_TRUE(identical(decode({.w = 2, .bits = 16, .rows = "\0\x12\x34\xff\xfe"s}),
                        Array::of<std::int32_t>({0x1234, 0xfffe}, {1, 2, 1})));
  EXPECT_TRUE(identical(decode({.bits = 16, .colour = 4, .rows = "\0\1\2\3\4"s}),
                        Array::of<std::int32_t>({0x102, 0x304}, {1, 1, 2})));
  EXPECT_TRUE(identical(decode({.bits = 16, .colour = 6, .rows = "\0\1\2\3\4\5\6\7\x08"s}),
                        Array::of<std::int32_t>({0x102, 0x304, 0x506, 0x708}, {1, 1, 4})));
}

TEST(Png, PalettesBecomeColours) {
  PngFixture file{
      .w = 4, .bits = 2, .colour = 3, .chunks = {{"PLTE", "\1\2\3\4\5\6"s}}, .rows = "\0\x1b"s};
  // Numbers beyond the palette are black.
  EXPECT_TRUE(identical(decode(file), pixels({1, 4, 3}, {1, 2, 3, 4, 5, 6, 0, 0, 0, 0, 0, 0})));
  file.rows = "\0\x11"s;
  file.chunks.emplace_back("tRNS", "\x80");  // of the first colour only
  EXPECT_TRUE(identical(decode(file), pixels({1, 4, 4}, {1, 2, 3, 128, 4, 5, 6, 255,  //
                                                         1, 2, 3, 128, 4, 5, 6, 255})));
}

TEST(Png, ATransparentColourBecomesAlpha) {
  PngFixture file{.w = 2, .colour = 2, .rows = "\0\1\2\3\4\5\6"s};
  file.chunks = {{"tRNS", "\0\4\0\5\0\6"s}};
  EXPECT_TRUE(identical(decode(file), pixels({1, 2, 4}, {1, 2, 3, 255, 4, 5, 6, 0})));
  PngFixture grey{.w = 2, .chunks = {{"tRNS", "\0\1"s}}, .rows = "\0\1\2"s};
  EXPECT_TRUE(identical(decode(grey), pixels({1, 2, 1}, {1, 2})));
}

TEST(Png, Filters) {
  // Left, above, their mean, the nearest of three: each row adds 1 to what its filter expects.
  PngFixture file{.h = 5, .w = 2, .rows = "\0\x08\x0a\1\1\1\2\1\1\3\1\1\4\1\1"s};
  EXPECT_TRUE(identical(decode(file), pixels({5, 2, 1}, {8, 10, 1, 2, 2, 3, 2, 3, 3, 4})));
}

TEST(Png, Interlaced) {
  for (auto [h, w] : {std::pair(1u, 1u), {9u, 11u}, {2u, 5u}}) {
    Array out = decode({.h = h, .w = w, .interlaced = true, .rows = interlaced_rows(h, w)});
    ASSERT_EQ(out.shape(), Shape({h, w, 1}));
    for (std::int64_t i = 0; i < h * w; ++i) EXPECT_EQ(out.at(i), i);
  }
}

TEST(Png, OtherChunksAreSkipped) {
  const Array plain = decode(small);
  PngFixture file = small;
  file.chunks = {
      {"gAMA", number(45455, 4, true)}, {"sBIT", "\4"},          {"bKGD", "\0\1"s},
      {"iCCP", "name\0\0no profile"s},  {"tEXt", "key\0value"s}, {"prVt", "of somebody"}};
  EXPECT_TRUE(identical(decode(file), plain));
  file.chunks = {{"PrVt", "which all must know"}};
  EXPECT_EQ(error(png(file)), "a.png: damaged PNG data: PrVt: unhandled critical chunk (libpng)");
}

// libpng by itself would print that it left the chunk out.
TEST(Png, DamageOfOtherChunksIsNotToldOf) {
  PngFixture fixture = small;
  fixture.chunks = {{"tRNS", "\0\1"s}};
  std::string file = png(fixture);
  file[file.find("tRNS") + 5] ^= 2;
  ::testing::internal::CaptureStderr();
  EXPECT_TRUE(identical(decode(file), decode(small)));
  EXPECT_EQ(::testing::internal::GetCapturedStderr(), "");
}

TEST(Png, EveryTruncationIsAnError) {
  const std::string file = png(small);
  ASSERT_EQ(error(file), "no error");
  for (std::size_t length = 24; length < file.size(); ++length)
    EXPECT_EQ(error(file.substr(0, length)),
              "a.png: damaged PNG data: the data end too early (libpng)")
        << length;
}

TEST(Png, EveryChangedByteOfPixelsIsAnError) {
  const std::string file = png(small);
  const std::size_t begin = file.find("IDAT"), end = file.find("IEND") - 4;
  ::testing::internal::CaptureStderr();
  for (std::size_t at = begin; at < end; ++at) {
    std::string bad = file;
    bad[at] = static_cast<char>(bad[at] ^ 0x10);
    EXPECT_THAT(error(bad), HasSubstr("a.png: damaged PNG data: ")) << at;
  }
  EXPECT_EQ(::testing::internal::GetCapturedStderr(), "");
}

TEST(Png, RepeatsWhatLibpngSays) {
  EXPECT_EQ(error(png({.colour = 3})),
            "a.png: damaged PNG data: IDAT: Missing PLTE before IDAT (libpng)");
  EXPECT_EQ(error(png({.colour = 5})), "a.png: damaged PNG data: Invalid IHDR data (libpng)");
  EXPECT_EQ(error(png({.h = 2})), "a.png: damaged PNG data: Not enough image data (libpng)");
}

TEST(Png, WrittenFilesAreReadBack) {
  // Sides beyond the million that libpng allows by itself.
  const Array wide = Array::zeros({1, 1'048'576, 1}, DType::u8);
  EXPECT_TRUE(identical(decode_png(write_png(wide), {1, 1'048'576}, "a.png"), wide));
  const Array deep = Array::of<std::int32_t>({0, 1, 255, 256, 65534, 65535}, {2, 3, 1});
  EXPECT_TRUE(identical(decode_png(write_png(deep), {2, 3}, "a.png"), deep));
}

}  // namespace
}  // namespace belfry::data
