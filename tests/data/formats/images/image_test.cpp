#include "belfry/data/formats/images/image.h"

#include <filesystem>

#include "../bmp_bytes.h"
#include "../jpeg_bytes.h"
#include "../webp_bytes.h"
#include "belfry/framework/base/file.h"
#include "pipeline.h"

namespace belfry::data {
namespace {

using namespace std::string_literals;
using ::testing::HasSubstr;
using Bytes = std::vector<std::uint8_t>;

// PNG files made elsewhere.
const std::string rgb_png = from_hex(
    "89504e470d0a1a0a0000000d49484452000000030000000208020000001216f14d000000174944415478da63f8cf"
    "c0c000c15c22721a46366e015100335904c05c9be18c0000000049454e44ae426082");
const std::string grey16_png = from_hex(
    "89504e470d0a1a0a0000000d494844520000000200000001100000000081d9fc150000000d4944415478da631032"
    "f9ff1f0003e60245f11c84650000000049454e44ae426082");
const std::string palette_png = from_hex(
    "89504e470d0a1a0a0000000d4948445200000002000000010803000000c3fc8fb800000006504c5445010203c864"
    "3250b4ae3f0000000b4944415478da63606400000005000242c2449f0000000049454e44ae426082");
const std::string rgba_png = from_hex(
    "89504e470d0a1a0a0000000d49484452000000010000000108060000001f15c4890000000d4944415478da63e012"
    "91d3000000cd0065b5c796520000000049454e44ae426082");
const std::string grey_alpha_png = from_hex(
    "89504e470d0a1a0a0000000d4948445200000001000000010804000000b51c0c020000000b4944415478da63f0d5"
    "000000c500762d87971f0000000049454e44ae426082");
const std::string bits_png = from_hex(
    "89504e470d0a1a0a0000000d4948445200000008000000010100000000cb7bd2ee0000000a4944415478da63d808"
    "0000b300b28c1a2b470000000049454e44ae426082");

Array decode(const std::string& file, const ImageOptions& options = {}) {
  return decode_image(as_bytes(file), options, "a");
}

Bytes pixels(const Array& image) {
  auto span = image.span<std::uint8_t>();
  return {span.begin(), span.end()};
}

std::string error(const std::string& file, const ImageOptions& options = {}) {
  return error_of([&] { decode(file, options); });
}

std::string to_text(const std::vector<std::byte>& bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

Array random_image(const Shape& shape) {
  PhiloxStream random(philox_key(1, "image"));
  Array out(shape, DType::u8);
  for (std::uint8_t& x : out.span<std::uint8_t>()) x = static_cast<std::uint8_t>(random.below(256));
  return out;
}

TEST(DecodeImage, PixelsAreRedGreenBlue) {
  Array image = decode(rgb_png);
  EXPECT_EQ(image.shape(), Shape({2, 3, 3}));
  EXPECT_EQ(pixels(image), (Bytes{255, 0, 0, 0, 255, 0, 0, 0, 255,  //
                                  10, 20, 30, 40, 50, 60, 70, 80, 90}));
  EXPECT_EQ(pixels(decode(rgba_png)), (Bytes{10, 20, 30}));
  EXPECT_EQ(pixels(decode(palette_png)), (Bytes{200, 100, 50, 1, 2, 3}));
}

TEST(DecodeImage, GivesTheChannelsAskedFor) {
  EXPECT_EQ(pixels(decode(rgba_png, {.channels = 4})), (Bytes{10, 20, 30, 40}));
  EXPECT_EQ(pixels(decode(palette_png, {.channels = 4})), (Bytes{200, 100, 50, 255, 1, 2, 3, 255}));
  // 0.299 x 200 + 0.587 x 100 + 0.114 x 50 = 124.2
  EXPECT_EQ(pixels(decode(palette_png, {.channels = 1})), (Bytes{124, 2}));
  EXPECT_EQ(pixels(decode(rgba_png, {.channels = 1})), (Bytes{18}));
  EXPECT_EQ(decode(palette_png, {.channels = 1}).shape(), Shape({1, 2, 1}));
  EXPECT_EQ(pixels(decode(grey_alpha_png, {.channels = 3})), (Bytes{77, 77, 77}));
  EXPECT_EQ(pixels(decode(grey_alpha_png, {.channels = 4})), (Bytes{77, 77, 77, 40}));
  EXPECT_EQ(pixels(decode(bits_png, {.channels = 1})), (Bytes{255, 0, 255, 255, 0, 0, 0, 255}));
  EXPECT_EQ(pixels(decode(grey16_png, {.channels = 4})),
            (Bytes{18, 18, 18, 255, 255, 255, 255, 255}));
  EXPECT_EQ(error(rgb_png, {.channels = 2}), "a: channels is 2, expected 0, 1, 3 or 4");
}

TEST(DecodeImage, ChannelsAsStored) {
  auto channels = [](const std::string& file) { return decode(file, {.channels = 0}).shape()[2]; };
  EXPECT_EQ(channels(bits_png), 1);
  EXPECT_EQ(channels(grey16_png), 1);
  EXPECT_EQ(channels(rgb_png), 3);
  EXPECT_EQ(channels(palette_png), 3);
  EXPECT_EQ(channels(rgba_png), 4);
  EXPECT_EQ(channels(grey_alpha_png), 4);
  EXPECT_EQ(channels(to_text(encode_jpeg(random_image({8, 8, 1})))), 1);
  EXPECT_EQ(channels(to_text(encode_jpeg(random_image({8, 8, 3})))), 3);
}

TEST(DecodeImage, SixteenBitsAreKeptOnDemand) {
  EXPECT_EQ(pixels(decode(grey16_png, {.channels = 1})), (Bytes{0x12, 0xff}));
  Array deep = decode(grey16_png, {.channels = 1, .keep_depth = true});
  EXPECT_TRUE(identical(deep, Array::of<std::int32_t>({0x1234, 0xffff}, {1, 2, 1})));
  EXPECT_TRUE(identical(
      decode(grey16_png, {.keep_depth = true}),
      Array::of<std::int32_t>({0x1234, 0x1234, 0x1234, 0xffff, 0xffff, 0xffff}, {1, 2, 3})));
  EXPECT_EQ(decode(rgb_png, {.keep_depth = true}).dtype(), DType::u8);
}

TEST(DecodeImage, ReadsBmpWebPAndTiff) {
  const std::string two_pixels = bmp({.w = 2, .pixels = "\x03\x02\x01\x06\x05\x04\0\0"s});
  EXPECT_EQ(pixels(decode(two_pixels)), (Bytes{1, 2, 3, 4, 5, 6}));
  const std::string greys =
      bmp({.bits = 1, .palette = number(0x303030, 4) + number(0, 4), .pixels = "\0\0\0\0"s});
  EXPECT_EQ(decode(greys, {.channels = 0}).shape(), Shape({1, 1, 1}));
  EXPECT_EQ(pixels(decode(greys)), (Bytes{0x30, 0x30, 0x30}));

  EXPECT_EQ(image_size(as_bytes(lossless_webp())), (ImageSize{2, 3}));
  const Bytes colours{255, 0, 0, 0, 255, 0, 0, 0, 255, 10, 20, 30, 40, 50, 60, 70, 80, 90};
  EXPECT_EQ(pixels(decode(lossless_webp())), colours);
  EXPECT_EQ(pixels(decode(lossless_alpha_webp())), colours);
  EXPECT_EQ(decode(lossless_alpha_webp(), {.channels = 0}).shape(), Shape({2, 3, 4}));
  EXPECT_EQ(decode(lossless_webp(), {.channels = 0}).shape(), Shape({2, 3, 3}));

  EXPECT_EQ(pixels(decode(tiff({{.w = 2, .channels = 3, .photometric = 2, .pixels = "abcdef"}}))),
            (Bytes{'a', 'b', 'c', 'd', 'e', 'f'}));
  std::string deep = tiff({{.w = 1, .bits = 16, .pixels = "\x34\x12"}});
  EXPECT_EQ(pixels(decode(deep)), (Bytes{0x12, 0x12, 0x12}));
  EXPECT_EQ(decode(deep, {.channels = 1, .keep_depth = true}).item(), 0x1234);
}

// The weights are 0.299, 0.587 and 0.114, rounded to nearest.
TEST(DecodeImage, GreyFromColour) {
  auto grey = [](std::uint8_t r, std::uint8_t g, std::uint8_t b) {
    Array image({1, 1, 3}, DType::u8);
    std::ranges::copy(Bytes{r, g, b}, image.span<std::uint8_t>().begin());
    return decode_image(encode_png(image), {.channels = 1}).item();
  };
  EXPECT_EQ(grey(255, 255, 255), 255);
  EXPECT_EQ(grey(255, 0, 0), 76);   // 76.2
  EXPECT_EQ(grey(0, 255, 0), 150);  // 149.7
  EXPECT_EQ(grey(0, 0, 255), 29);   // 29.1
  EXPECT_EQ(grey(5, 0, 0), 1);      // 1.495
  Array deep = Array::of<std::int32_t>({65535, 65535, 65535, 65535, 0, 0}, {1, 2, 3});
  EXPECT_TRUE(identical(decode_image(encode_png(deep), {.channels = 1, .keep_depth = true}),
                        Array::of<std::int32_t>({65535, 19596}, {1, 2, 1})));
}

TEST(DecodeImage, AlphaOfSixteenBits) {
  Array deep = Array::of<std::int32_t>({1, 2, 3}, {1, 1, 3});
  EXPECT_TRUE(identical(decode_image(encode_png(deep), {.channels = 4, .keep_depth = true}),
                        Array::of<std::int32_t>({1, 2, 3, 65535}, {1, 1, 4})));
}

TEST(DecodeImage, ReadsBackEncodedPng) {
  for (std::int64_t channels : {1, 3, 4}) {
    Array image = random_image({5, 7, channels});
    Array before = image.clone();
    std::vector<std::byte> file = encode_png(image);
    EXPECT_TRUE(identical(image, before));  // is only looked at
    EXPECT_TRUE(identical(decode_image(file, {.channels = static_cast<int>(channels)}), image));
    EXPECT_EQ(image_size(file), (ImageSize{5, 7}));
  }
  Array deep = Array::of<std::int32_t>({0, 1, 256, 65535, 4660, 7}, {1, 2, 3});
  EXPECT_TRUE(identical(decode_image(encode_png(deep), {.keep_depth = true}), deep));
  Array flat = random_image({3, 2});
  EXPECT_TRUE(identical(decode_image(encode_png(flat), {.channels = 1}).reshape({3, 2}), flat));
}

TEST(DecodeImage, EncodedJpegIsClose) {
  Array image({16, 16, 3}, DType::u8);
  for (std::int64_t i = 0; i < 256; ++i)
    for (int c = 0; c < 3; ++c)
      image.span<std::uint8_t>()[static_cast<std::size_t>(i * 3 + c)] =
          static_cast<std::uint8_t>(40 + 60 * c + i / 16 * 2);
  Array back = decode(to_text(encode_jpeg(image, {.quality = 100})));
  ASSERT_EQ(back.shape(), image.shape());
  for (std::int64_t i = 0; i < image.elements(); ++i) EXPECT_NEAR(back.at(i), image.at(i), 3);
  EXPECT_GT(encode_jpeg(random_image({64, 64, 3}), {.quality = 95}).size(),
            encode_jpeg(random_image({64, 64, 3}), {.quality = 20}).size());
}

TEST(DecodeImage, EncodedJpegIsWhatLibjpegMakes) {
  for (std::int64_t channels : {1, 3})
    for (int quality : {1, 40, 95, 100}) {
      Array image = random_image({37, 50, channels});
      const int shared = channels == 3 ? 2 : 1;
      EXPECT_TRUE(to_text(encode_jpeg(image, {.quality = quality}))
                  == jpeg(image, {.h_factor = shared, .v_factor = shared, .quality = quality}));
    }
  // Longer than the piece that is written at once.
  EXPECT_TRUE(to_text(encode_jpeg(random_image({200, 300, 3}), {.quality = 90}))
              == jpeg(random_image({200, 300, 3})));
}

// 16 x 24 pixels that are all different from their mirror images, with an Exif orientation.
std::string oriented_jpeg(int orientation) {
  Array image({16, 24, 1}, DType::u8);
  for (std::int64_t i = 0; i < image.elements(); ++i)
    image.span<std::uint8_t>()[static_cast<std::size_t>(i)] =
        static_cast<std::uint8_t>(i / 24 * 5 + i % 24 * 7);
  std::string file = to_text(encode_jpeg(image));
  std::string exif = "Exif\0\0II\x2a\0"s + number(8, 4) + number(1, 2) + number(0x112, 2)
                     + number(3, 2) + number(1, 4) + number(static_cast<unsigned>(orientation), 4)
                     + number(0, 4);
  return file.substr(0, 2) + "\xff\xe1" + number(exif.size() + 2, 2, true) + exif + file.substr(2);
}

TEST(DecodeImage, TurnsPhotographsUprightOnDemand) {
  constexpr std::int64_t h = 16, w = 24;
  Array stored = decode(oriented_jpeg(6), {.channels = 1});
  ASSERT_EQ(stored.shape(), Shape({h, w, 1}));
  for (int orientation = 1; orientation <= 8; ++orientation) {
    Array turned = decode(oriented_jpeg(orientation), {.channels = 1, .apply_orientation = true});
    bool transposed = orientation >= 5;
    ASSERT_EQ(turned.shape(), transposed ? Shape({w, h, 1}) : Shape({h, w, 1}));
    for (std::int64_t y = 0; y < h; ++y)
      for (std::int64_t x = 0; x < w; ++x) {
        // Where the stored pixel is shown: the table of the Exif standard, by row and column.
        const std::int64_t places[8][2] = {
            {y, x}, {y, w - 1 - x}, {h - 1 - y, w - 1 - x}, {h - 1 - y, x},
            {x, y}, {x, h - 1 - y}, {w - 1 - x, h - 1 - y}, {w - 1 - x, y}};
        const auto* at = places[orientation - 1];
        ASSERT_EQ(turned.at(at[0] * (transposed ? h : w) + at[1]), stored.at(y * w + x))
            << "orientation " << orientation << " at " << y << ", " << x;
      }
  }
}

TEST(DecodeImage, RefusesTooManyPixels) {
  EXPECT_EQ(error(rgb_png, {.pixel_limit = 5}),
            "a: 2 x 3 pixels are more than the limit of 5; raise .pixel_limit if the file is to be "
            "trusted");
  EXPECT_EQ(decode(rgb_png, {.pixel_limit = 6}).elements(), 18);
  EXPECT_THAT(error(to_text(encode_jpeg(random_image({8, 8, 3}))), {.pixel_limit = 63}),
              HasSubstr("8 x 8 pixels are more than the limit of 63"));
  std::string bomb = rgb_png;
  bomb.replace(16, 8, number(8'000, 4, true) + number(8'000, 4, true));
  EXPECT_EQ(error(bomb), "a: truncated: 8000 x 8000 pixels cannot be in 80 bytes");
  bomb.replace(16, 8, number(8'192, 4, true) + number(8'193, 4, true));
  EXPECT_EQ(error(bomb),
            "a: 8193 x 8192 pixels are more than the limit of 67108864; raise .pixel_limit if the "
            "file is to be trusted");
}

TEST(DecodeImage, DamagedFilesAreAnError) {
  ::testing::internal::CaptureStderr();
  EXPECT_THAT(error("not an image"), HasSubstr("a: expected JPEG, PNG"));
  for (const std::string& file : {rgb_png, grey16_png, palette_png}) {
    std::size_t image_data = file.find("IDAT");
    for (std::size_t length = 0; length < image_data + 6; ++length)
      EXPECT_THAT(error(file.substr(0, length)), HasSubstr("a: ")) << length;
    std::string bad = file;
    bad[image_data + 8] = static_cast<char>(bad[image_data + 8] ^ 0x55);
    EXPECT_THAT(error(bad), HasSubstr("a: damaged PNG data")) << to_text(encode_png(decode(file)));
  }
  std::string jpeg = to_text(encode_jpeg(random_image({40, 40, 3})));
  jpeg.resize(jpeg.size() / 2);
  EXPECT_EQ(error(jpeg), "a: Premature end of JPEG file (libjpeg)");
  EXPECT_EQ(decode(jpeg, {.accept_damage = true}).shape(), Shape({40, 40, 3}));
  EXPECT_THAT(error(tiff({{.h = 2, .w = 3, .pixels = "123456", .claimed = 999}})),
              HasSubstr("a: truncated: pixels at byte 8"));
  EXPECT_THAT(error(tiff({{.w = 1, .bits = 32, .format = 3, .pixels = "1234"}})),
              HasSubstr("a: TIFF data of 1 x 1 pixels of 1 float samples of 32 bits"));
  EXPECT_THAT(error(lossy_webp().substr(0, 60)), HasSubstr("a: damaged WebP data"));
  EXPECT_THAT(error(bmp({.h = 2})), HasSubstr("a: truncated: 8 bytes are expected at byte 54"));
  EXPECT_EQ(::testing::internal::GetCapturedStderr(), "");
}

TEST(EncodeImage, RefusesWhatAFileCannotHold) {
  auto png = [](const Array& a) { return error_of([&] { encode_png(a); }); };
  auto jpeg = [](const Array& a, int quality = 90) {
    return error_of([&] { encode_jpeg(a, {.quality = quality}); });
  };
  EXPECT_EQ(png(Array::zeros({2, 2})), "encode_png: expected u8 or i32, got f32[2, 2]");
  EXPECT_EQ(png(Array::zeros({2, 2, 2}, DType::u8)), "encode_png: cannot encode u8[2, 2, 2]");
  EXPECT_EQ(png(Array::zeros({0, 2}, DType::u8)), "encode_png: cannot encode u8[0, 2]");
  EXPECT_EQ(png(Array::of<std::int32_t>({65536}, {1, 1})),
            "encode_png: the value 65536 is not within 0 to 65535");
  EXPECT_EQ(jpeg(Array::zeros({2, 2, 4}, DType::u8)), "encode_jpeg: cannot encode u8[2, 2, 4]");
  EXPECT_EQ(jpeg(Array::zeros({2, 2}, DType::i32)), "encode_jpeg: expected u8, got i32[2, 2]");
  EXPECT_EQ(jpeg(Array::zeros({2, 2}, DType::u8), 0),
            "encode_jpeg: quality is 0, expected 1 to 100");
  EXPECT_EQ(jpeg(Array::zeros({1, 65501}, DType::u8)),
            "encode_jpeg: Maximum supported image dimension is 65500 pixels (libjpeg)");
}

TEST(DecodeImage, ReadsMembranes) {
  const char* given = std::getenv("BELFRY_DATA");
  std::string folder =
      (given ? std::string(given) : BELFRY_SOURCE_DIR "/../shared/data") + "/membrane/";
  if (!std::filesystem::exists(folder)) GTEST_SKIP() << "no " << folder << "; set BELFRY_DATA";
  Array image = decode(read_file(folder + "image/00.png"), {.channels = 1});
  EXPECT_EQ(image.shape(), Shape({512, 512, 1}));
  Array mask = decode(read_file(folder + "label/00.png"), {.channels = 1});
  std::set<int> values;
  for (std::uint8_t x : mask.span<std::uint8_t>()) values.insert(x);
  EXPECT_EQ(values, (std::set<int>{0, 255}));
}

}  // namespace
}  // namespace belfry::data
