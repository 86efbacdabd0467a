#include "belfry/data/formats/images/webp.h"

#include "../webp_bytes.h"
#include "pipeline.h"

namespace belfry::data {
namespace {

using ::testing::AnyOf;
using ::testing::HasSubstr;
using Bytes = std::vector<std::uint8_t>;

Array decode(const std::string& file) {
  return decode_webp(as_bytes(file), image_size(as_bytes(file), "a.webp"), "a.webp");
}

std::string error(const std::string& file) {
  return error_of([&] { decode(file); });
}

// As Pillow reads them.
TEST(WebP, PixelsAreRedGreenBlueAlpha) {
  const Array colours =
      pixels({2, 3, 3}, {255, 0, 0, 0, 255, 0, 0, 0, 255, 10, 20, 30, 40, 50, 60, 70, 80, 90});
  EXPECT_TRUE(identical(decode(lossless_webp()), colours));
  EXPECT_TRUE(identical(decode(exif_webp()), colours));
  EXPECT_TRUE(identical(decode(lossless_alpha_webp()),
                        pixels({2, 3, 4}, {255, 0,  0,  255, 0,  255, 0,  128, 0,  0,  255, 0,
                                           10,  20, 30, 1,   40, 50,  60, 254, 70, 80, 90,  77})));
  EXPECT_TRUE(
      identical(decode(lossy_webp()), pixels({2, 3, 3}, {84, 81, 29, 155, 151, 147, 23, 20, 110,  //
                                                         23, 20, 0, 53, 49, 46, 86, 83, 173})));
  EXPECT_TRUE(identical(decode(lossy_alpha_webp()),
                        pixels({2, 3, 4}, {117, 64, 27, 255, 179, 142, 118, 128, 33, 30, 33, 0,
                                           57,  3,  0,  1,   79,  42,  18,  254, 96, 93, 96, 77})));
}

TEST(WebP, AnimationsAreAnError) {
  EXPECT_EQ(error(animated_webp()), "a.webp: WebP data of an animation, expected one image");
}

TEST(WebP, EveryTruncationIsAnError) {
  ::testing::internal::CaptureStderr();
  for (const std::string& file : {lossless_webp(), lossy_webp(), lossy_alpha_webp()}) {
    ASSERT_EQ(error(file), "no error");
    for (std::size_t length = 30; length < file.size() - 1; ++length)  // one pads the chunk
      EXPECT_THAT(error(file.substr(0, length)),
                  AnyOf("a.webp: damaged WebP data: the data end too early (libwebp)",
                        "a.webp: damaged WebP data: bytes that cannot be read (libwebp)"))
          << length;
  }
  EXPECT_EQ(::testing::internal::GetCapturedStderr(), "");
}

TEST(WebP, DamageIsAnErrorOrDecodes) {
  PhiloxStream random(philox_key(3, "damage"));
  int errors = 0;
  for (const std::string& file : {lossless_webp(), lossy_webp(), lossy_alpha_webp()})
    for (int i = 0; i < 500; ++i) {
      std::string bad = file;
      bad[random.below(bad.size())] = static_cast<char>(random.below(256));
      std::string message = error_of([&] {
        const ImageSize size = image_size(as_bytes(bad), "a.webp");
        check_pixel_limit(size, 1 << 20, "a.webp");
        decode_webp(as_bytes(bad), size, "a.webp");
      });
      EXPECT_TRUE(message == "no error" || message.starts_with("a.webp: ")) << message;
      errors += message != "no error";
    }
  EXPECT_GT(errors, 100);
}

TEST(WebP, TheCanvasIsTheImage) {
  std::string file = exif_webp();
  file[24] = 5;  // one less than its width
  EXPECT_THAT(error(file), HasSubstr("a.webp: damaged WebP data: "));
}

}  // namespace
}  // namespace belfry::data
