#include "belfry/data/formats/images/image_header.h"

#include "../image_bytes.h"
#include "pipeline.h"

namespace belfry::data {
namespace {

using namespace std::string_literals;
using ::testing::HasSubstr;

std::string size(const std::string& file) {
  try {
    ImageSize out = image_size(as_bytes(file), "a");
    return concat(out.h, " x ", out.w);
  } catch (const Error& error) {
    return error.what();
  }
}

std::string segment(int marker, const std::string& content) {
  return "\xff"s + static_cast<char>(marker) + number(content.size() + 2, 2, true) + content;
}

// A frame header of 8 bits, one component.
std::string frame(int marker, unsigned h, unsigned w) {
  return segment(marker, "\x08"s + number(h, 2, true) + number(w, 2, true) + "\x01\x01\x11\x00"s);
}

const std::string jpeg_start = "\xff\xd8";

TEST(ImageSize, Jpeg) {
  std::string app = segment(0xe0, "JFIF\0\1\1\0\0\1\0\1\0\0"s), table = segment(0xc4, "xx");
  EXPECT_EQ(size(jpeg_start + app + frame(0xc0, 300, 70)), "300 x 70");
  EXPECT_EQ(size(jpeg_start + app + table + "\xff\xff\xff"s + frame(0xc2, 1, 65500).substr(1)),
            "1 x 65500");
  EXPECT_EQ(size(jpeg_start + app),
            "a: truncated: 1 bytes are expected at byte 20 but the data "
            "end at byte 20");
  EXPECT_EQ(size(jpeg_start + app + "\xff\xd9"), "a: JPEG data without a frame header");
  EXPECT_EQ(size(jpeg_start + segment(0xda, "x") + frame(0xc0, 1, 1)),
            "a: JPEG data without a frame header");
  EXPECT_EQ(size(jpeg_start + "\xff\xe0\0\1"s),
            "a: the JPEG segment at byte 4 has length 1, expected at least 2");
  EXPECT_EQ(size(jpeg_start + app + "x"), "a: expected a JPEG marker at byte 20");
  EXPECT_EQ(size(jpeg_start + frame(0xc0, 0, 70)), "a: JPEG data of 0 x 70 pixels");
}

TEST(ImageSize, Png) {
  std::string head = "\x89PNG\r\n\x1a\n\0\0\0\x0d"s;
  EXPECT_EQ(size(head + "IHDR" + number(70'000, 4, true) + number(3, 4, true)), "3 x 70000");
  EXPECT_EQ(size(head + "IDAT" + number(7, 4) + number(3, 4)),
            "a: PNG data without IHDR at byte 12");
  EXPECT_EQ(size(head + "IHDR" + number(7, 4)),
            "a: truncated: 4 bytes are expected at byte 20 but the data end at byte 20");
}

TEST(ImageSize, Bmp) {
  std::string head = "BM" + std::string(12, '\0');
  EXPECT_EQ(size(head + number(40, 4) + number(5, 4) + number(7, 4)), "7 x 5");
  EXPECT_EQ(size(head + number(40, 4) + number(5, 4) + number(0xfffffff9, 4)), "7 x 5");
  EXPECT_EQ(size(head + number(12, 4) + number(5, 2) + number(7, 2)), "7 x 5");
  EXPECT_EQ(size(head + number(40, 4) + number(0xffffffff, 4) + number(7, 4)),
            "a: BMP data of 7 x -1 pixels");
  EXPECT_EQ(size(head + number(40, 4) + number(5, 4) + number(0x80000000, 4)), "2147483648 x 5");
}

TEST(ImageSize, WebP) {
  std::string head = "RIFF1234WEBP";
  EXPECT_EQ(size(head + "VP8X" + number(10, 4) + number(0, 4) + number(299, 3) + number(69'999, 3)),
            "70000 x 300");
  EXPECT_EQ(size(head + "VP8 " + number(10, 4) + "xyz\x9d\x01\x2a" + number(0x4000 | 300, 2)
                 + number(200, 2)),
            "200 x 300");
  EXPECT_EQ(size(head + "VP8L" + number(10, 4) + "\x2f" + number(299 | 199 << 14, 4)), "200 x 300");
  EXPECT_EQ(size(head + "VP8L" + number(10, 4) + "\x2e" + number(0, 4)),
            "a: no VP8L signature at byte 20");
  EXPECT_EQ(size(head + "ALPH" + std::string(30, '\0')),
            "a: WebP data without a VP8, VP8L or VP8X header at byte 12");
}

TEST(ImageSize, Tiff) {
  EXPECT_EQ(size(tiff({{.h = 2, .w = 3, .pixels = "123456"}, {.h = 9, .w = 9}})), "2 x 3");
}

TEST(ImageSize, OtherDataAreAnError) {
  EXPECT_EQ(size("GIF89a123"),
            "a: expected JPEG, PNG, BMP, WebP or TIFF data, but they begin "
            "with 47 49 46 38 39 61 31 32 (hexadecimal)");
  EXPECT_EQ(size(""), "a: expected JPEG, PNG, BMP, WebP or TIFF data, but they begin with nothing");
}

TEST(ImageSize, LimitsPixels) {
  check_pixel_limit({.h = 3, .w = 4}, 12, "a");
  EXPECT_EQ(error_of([] { check_pixel_limit({.h = 3, .w = 4}, 11, "a"); }),
            "a: 3 x 4 pixels are more than the limit of 11; raise .pixel_limit if the file is to "
            "be trusted");
  std::int64_t huge = 0xffffffff;
  EXPECT_THAT(error_of([&] { check_pixel_limit({.h = huge, .w = huge}, 1 << 28, "a"); }),
              HasSubstr("more than the limit"));
}

std::string exif(const std::string& directory, bool big_endian = false) {
  return jpeg_start + segment(0xe0, "JFIF")
         + segment(0xe1, "Exif\0\0"s + (big_endian ? "MM\0\x2a"s : "II\x2a\0"s)
                             + number(8, 4, big_endian) + directory)
         + frame(0xc0, 8, 8);
}

std::string entry(int tag, int value, bool big_endian = false) {
  return number(static_cast<unsigned>(tag), 2, big_endian) + number(3, 2, big_endian)
         + number(1, 4, big_endian) + number(static_cast<unsigned>(value), 2, big_endian)
         + number(0, 2);
}

TEST(ExifOrientation, IsFoundAmongOtherTags) {
  for (int value = 1; value <= 8; ++value) {
    std::string little = number(2, 2) + entry(0x010f, 7) + entry(0x0112, value);
    EXPECT_EQ(exif_orientation(as_bytes(exif(little))), value);
    std::string big = number(1, 2, true) + entry(0x0112, value, true);
    EXPECT_EQ(exif_orientation(as_bytes(exif(big, true))), value);
  }
}

TEST(ExifOrientation, IsOneWithoutAUsableTag) {
  EXPECT_EQ(exif_orientation(as_bytes(exif(number(1, 2) + entry(0x0112, 9)))), 1);
  EXPECT_EQ(exif_orientation(as_bytes(exif(number(1, 2) + entry(0x0112, 0)))), 1);
  EXPECT_EQ(exif_orientation(as_bytes(exif(number(1, 2) + entry(0x0113, 6)))), 1);
  EXPECT_EQ(exif_orientation(as_bytes(exif(number(500, 2) + entry(0x0113, 6)))), 1);
  EXPECT_EQ(exif_orientation(as_bytes(jpeg_start + frame(0xc0, 8, 8))), 1);
  EXPECT_EQ(exif_orientation(as_bytes("BM")), 1);
  EXPECT_EQ(exif_orientation(as_bytes("")), 1);
}

}  // namespace
}  // namespace belfry::data
