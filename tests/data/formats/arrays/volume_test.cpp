#include "belfry/data/formats/arrays/volume.h"

#include "../../../framework/base/temporary_folder.h"
#include "../image_bytes.h"
#include "belfry/framework/base/file.h"
#include "pipeline.h"

namespace belfry::data {
namespace {

using namespace std::string_literals;
using ::testing::HasSubstr;

Array decode(const std::string& file, const VolumeOptions& options = {}) {
  return decode_volume(as_bytes(file), options, "a.tif");
}

std::string error(const std::string& file, const VolumeOptions& options = {}) {
  return error_of([&] { decode(file, options); });
}

TiffFixture grey(const std::string& pixels) { return {.h = 2, .w = 3, .pixels = pixels}; }

TEST(Volume, StacksGreyPages) {
  for (bool big_endian : {false, true})
    EXPECT_TRUE(
        identical(decode(tiff({grey("\1\2\3\4\5\6"), grey("\xff\7\7\7\7\x8")}, big_endian)),
                  Array::of<std::uint8_t>({1, 2, 3, 4, 5, 6, 255, 7, 7, 7, 7, 8}, {2, 2, 3, 1})));
}

TEST(Volume, ReadsBigTiff) {
  EXPECT_TRUE(identical(decode(tiff({grey("\1\2\3\4\5\6")}, false, true)),
                        Array::of<std::uint8_t>({1, 2, 3, 4, 5, 6}, {1, 2, 3, 1})));
}

TEST(Volume, ColoursAreRedGreenBlue) {
  TiffFixture page{.w = 2, .channels = 3, .photometric = 2, .pixels = "\1\2\3\4\5\6"};
  EXPECT_TRUE(
      identical(decode(tiff({page, page})),
                Array::of<std::uint8_t>({1, 2, 3, 4, 5, 6, 1, 2, 3, 4, 5, 6}, {2, 1, 2, 3})));
}

TEST(Volume, SixteenBitsBecomeI32) {
  TiffFixture page{.w = 3, .bits = 16, .pixels = "\x01\x00\x34\x12\xff\xff"s};
  EXPECT_TRUE(
      identical(decode(tiff({page})), Array::of<std::int32_t>({1, 0x1234, 0xffff}, {1, 1, 3, 1})));
  TiffFixture swapped{.w = 3, .bits = 16, .pixels = "\x00\x01\x12\x34\xff\xff"s};
  EXPECT_TRUE(identical(decode(tiff({swapped}, true)),
                        Array::of<std::int32_t>({1, 0x1234, 0xffff}, {1, 1, 3, 1})));
  TiffFixture colour{.channels = 3, .bits = 16, .photometric = 2, .pixels = "\1\0\2\0\3\0"s};
  EXPECT_TRUE(identical(decode(tiff({colour})), Array::of<std::int32_t>({1, 2, 3}, {1, 1, 1, 3})));
}

TEST(Volume, FloatsStayFloats) {
  std::string pixels = number(0x3fc00000, 4) + number(0xc2f60000, 4);
  TiffFixture page{.h = 2, .bits = 32, .format = 3, .pixels = pixels};
  EXPECT_TRUE(identical(decode(tiff({page, page})),
                        Array::of<float>({1.5f, -123, 1.5f, -123}, {2, 2, 1, 1})));
}

TEST(Volume, PagesMustBeAlike) {
  TiffFixture wide{.h = 3, .w = 2, .pixels = "\1\2\3\4\5\6"};
  EXPECT_EQ(error(tiff({grey("123456"), grey("123456"), wide})),
            "a.tif: page 2 has 3 x 2 pixels of 1 unsigned samples of 8 bits, photometric "
            "interpretation 1, expected as page 0: 2 x 3 pixels of 1 unsigned samples of 8 bits, "
            "photometric interpretation 1");
  TiffFixture deep{.h = 2, .w = 3, .bits = 16, .pixels = "123456123456"};
  EXPECT_THAT(error(tiff({grey("123456"), deep})), HasSubstr("page 1 has"));
}

TEST(Volume, RefusesOtherKinds) {
  auto refused = [](const TiffFixture& page) {
    EXPECT_THAT(error(tiff({page})),
                HasSubstr("; expected grey (0, 1) or RGB (2), also with alpha, of 8, 16 or 32 bits "
                          "unsigned or 32 bits float, or a palette (3) of 8 bits"));
  };
  refused({.format = 2});  // signed
  refused({.bits = 1});
  refused({.bits = 64, .format = 3, .pixels = "12345678"});
  refused({.channels = 5, .photometric = 2, .pixels = "12345"});
  refused({.channels = 3, .pixels = "123"});  // neither grey nor colour
}

TEST(Volume, RefusesTooManyVoxels) {
  std::string file = tiff({grey("123456"), grey("123456")});
  EXPECT_EQ(decode(file, {.voxel_limit = 12}).elements(), 12);
  EXPECT_EQ(error(file, {.voxel_limit = 11}),
            "a.tif: 2 x 2 x 3 voxels are more than the limit of 11; raise .voxel_limit if the file "
            "is to be trusted");
  constexpr unsigned lzw = 5;
  EXPECT_THAT(error(tiff({{.h = 10'000, .w = 10'000, .compression = lzw}})),
              HasSubstr("a.tif: truncated: 1 x 10000 x 10000 voxels cannot be in"));
}

TEST(Volume, EveryTruncationIsAnError) {
  std::string file = tiff({grey("123456"), grey("123456")});
  for (std::size_t length = 0; length < file.size(); ++length)
    EXPECT_THAT(error(file.substr(0, length)), HasSubstr("a.tif: ")) << length;
}

TEST(Volume, TooFewPixelsAreAnError) {
  // The directory is in order, but its strip is shorter than the page.
  TiffFixture page{.h = 2, .w = 3, .bits = 16, .pixels = "123456"};
  EXPECT_EQ(error(tiff({page})),
            "a.tif: truncated: the page at byte 16 has 6 bytes of pixels, expected 12");
}

TEST(Volume, DamagedPixelsAreAnError) {
  constexpr unsigned deflate = 8;
  for (unsigned bits : {8u, 16u}) {
    TiffFixture page{
        .w = 3, .bits = bits, .pixels = "this is no zlib stream", .compression = deflate};
    EXPECT_EQ(error(tiff({page, page})),
              "a.tif: page 0: damaged TIFF data: the deflated pixels at byte 8 do not agree with "
              "their checksum");
  }
}

TEST(Volume, ReadsAFile) {
  TemporaryFolder folder;
  write_file_atomically(folder / "v.tif", tiff({grey("123456")}));
  EXPECT_EQ(read_volume(folder / "v.tif").shape(), Shape({1, 2, 3, 1}));
  EXPECT_THAT(error_of([&] { read_volume(folder / "none"); }), HasSubstr("No such file"));
}

}  // namespace
}  // namespace belfry::data
