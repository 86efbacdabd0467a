#include "belfry/data/formats/images/jpeg.h"

#include <filesystem>
#include <map>

#include "../image_bytes.h"
#include "../jpeg_bytes.h"
#include "belfry/data/formats/images/image_header.h"
#include "belfry/framework/base/file.h"
#include "pipeline.h"

namespace belfry::data {
namespace {

using ::testing::HasSubstr;

Array decode(const std::string& file, const JpegOptions& options = {}) {
  return decode_jpeg(as_bytes(file), options, "a.jpg");
}

std::string error(const std::string& file, const JpegOptions& options = {}) {
  return error_of([&] { decode(file, options); });
}

Array part_of(const Array& image, const Rectangle& part) {
  std::int64_t w = image.shape()[1], channels = image.shape()[2];
  Array out({part.height, part.width, channels}, DType::u8);
  auto from = image.span<std::uint8_t>();
  auto to = out.span<std::uint8_t>().begin();
  for (std::int64_t y = part.top; y < part.top + part.height; ++y)
    to = std::copy_n(from.begin() + (y * w + part.left) * channels, part.width * channels, to);
  return out;
}

// The part of an image shrunk to 1 / s that covers `crop`.
Rectangle shrunk(const Rectangle& crop, std::int64_t s) {
  Rectangle out{.top = crop.top / s, .left = crop.left / s};
  out.height = (crop.top + crop.height + s - 1) / s - out.top;
  out.width = (crop.left + crop.width + s - 1) / s - out.left;
  return out;
}

std::map<std::string, JpegFixture> kinds() {
  std::map<std::string, JpegFixture> out{{"4:4:4", {.h_factor = 1, .v_factor = 1}},
                                         {"4:2:2", {.h_factor = 2, .v_factor = 1}},
                                         {"4:2:0", {.h_factor = 2, .v_factor = 2}},
                                         {"4:4:0", {.h_factor = 1, .v_factor = 2}},
                                         {"4:1:1", {.h_factor = 4, .v_factor = 1}}};
  for (const auto& [name, fixture] : std::map(out)) {
    JpegFixture progressive = fixture, restarting = fixture;
    progressive.progressive = true;
    restarting.restart_rows = 1;
    out[name + " progressive"] = progressive;
    out[name + " with restarts"] = restarting;
  }
  return out;
}

TEST(Jpeg, EqualsPlainUseOfLibjpeg) {
  for (const auto& [name, fixture] : kinds()) {
    std::string file = jpeg(jpeg_picture(61, 83, 3), fixture);
    EXPECT_TRUE(identical(decode(file), decode_by_libjpeg(file))) << name;
    EXPECT_TRUE(identical(decode(file, {.channels = 1}), decode_by_libjpeg(file, 1))) << name;
    for (int by : {2, 4, 8})
      EXPECT_TRUE(identical(decode(file, {.shrink = by}),
                            decode_by_libjpeg(file, 3, static_cast<unsigned>(by))))
          << name << " shrunk to 1 / " << by;
  }
}

// Every row and column as a border of some crop, near the borders and in the middle.
std::vector<Rectangle> crops(std::int64_t h, std::int64_t w) {
  std::vector<Rectangle> out{{0, 0, h, w}, {0, 0, 1, 1}, {h - 1, w - 1, 1, 1}};
  const std::int64_t some_h = std::min<std::int64_t>(20, h - h / 3), few = 9;
  const std::int64_t some_w = std::min<std::int64_t>(20, w - w / 3);
  for (std::int64_t y = 0; y < h; ++y) out.push_back({y, w / 3, std::min(h - y, few), some_w});
  for (std::int64_t x = 0; x < w; ++x) out.push_back({h / 3, x, some_h, std::min(w - x, few)});
  PhiloxStream random(philox_key(1, "crops"));
  for (int i = 0; i < 60; ++i) {
    auto below = [&](std::int64_t n) {
      return static_cast<std::int64_t>(random.below(static_cast<std::uint64_t>(n)));
    };
    std::int64_t y = below(h), x = below(w);
    out.push_back({y, x, 1 + below(h - y), 1 + below(w - x)});
  }
  return out;
}

void expect_crops_are_exact(const std::string& file, const std::string& name, int channels = 3) {
  ImageSize size = image_size(as_bytes(file));
  for (int by : {1, 2, 4, 8}) {
    Array whole = decode(file, {.channels = channels, .shrink = by});
    for (const Rectangle& crop : crops(size.h, size.w)) {
      Array part = decode(file, {.channels = channels, .crop = crop, .shrink = by});
      ASSERT_TRUE(identical(part, part_of(whole, shrunk(crop, by))))
          << name << " shrunk to 1 / " << by << ", " << crop.height << " x " << crop.width << " at "
          << crop.top << ", " << crop.left;
    }
  }
}

TEST(Jpeg, ACropEqualsThePartOfTheWhole) {
  for (const auto& [name, fixture] : kinds())
    expect_crops_are_exact(jpeg(jpeg_picture(61, 83, 3), fixture), name);
}

TEST(Jpeg, ACropOfGreyEqualsThePartOfTheWhole) {
  for (int factor : {1, 2})  // of no meaning for one component, and yet stored
    expect_crops_are_exact(jpeg(jpeg_picture(61, 83, 1), {.h_factor = factor, .v_factor = factor}),
                           "grey", 1);
  expect_crops_are_exact(jpeg(jpeg_picture(61, 83, 3)), "colour as grey", 1);
  expect_crops_are_exact(jpeg(jpeg_picture(61, 83, 3)), "with alpha", 4);
}

TEST(Jpeg, ACropOfATinyImage) {
  for (std::int64_t side : {1, 2, 3, 7, 9, 17})
    expect_crops_are_exact(jpeg(jpeg_picture(side, side + 1, 3)), concat("side ", side));
}

TEST(Jpeg, ShrinkingLeavesAtLeastWhatIsAsked) {
  std::string file = jpeg(jpeg_picture(160, 240, 3));
  auto shape = [&](AtLeast at_least, std::optional<Rectangle> crop = {}) {
    return decode(file, {.crop = crop, .shrink = at_least}).shape();
  };
  EXPECT_EQ(shape({20, 30}), Shape({20, 30, 3}));
  EXPECT_EQ(shape({21, 30}), Shape({40, 60, 3}));
  EXPECT_EQ(shape({20, 31}), Shape({40, 60, 3}));
  EXPECT_EQ(shape({80, 120}), Shape({80, 120, 3}));
  EXPECT_EQ(shape({81, 1}), Shape({160, 240, 3}));
  EXPECT_EQ(shape({1000, 1000}), Shape({160, 240, 3}));
  EXPECT_EQ(shape({20, 20}, Rectangle{.top = 8, .left = 16, .height = 40, .width = 40}),
            Shape({20, 20, 3}));
  // From 9 to 49 in eighths is 1 to 7, in halves 4 to 25.
  EXPECT_EQ(shape({6, 6}, Rectangle{.top = 9, .left = 9, .height = 40, .width = 40}),
            Shape({6, 6, 3}));
  EXPECT_EQ(shape({20, 20}, Rectangle{.top = 9, .left = 9, .height = 40, .width = 40}),
            Shape({21, 21, 3}));
}

TEST(Jpeg, AlphaIsOpaque) {
  std::string file = jpeg(jpeg_picture(8, 8, 3));
  Array rgb = decode(file), rgba = decode(file, {.channels = 4});
  ASSERT_EQ(rgba.shape(), Shape({8, 8, 4}));
  for (std::int64_t i = 0; i < 64; ++i) {
    EXPECT_EQ(rgba.at(i * 4 + 3), 255);
    for (int c = 0; c < 3; ++c) EXPECT_EQ(rgba.at(i * 4 + c), rgb.at(i * 3 + c));
  }
  EXPECT_EQ(decode(file, {.channels = 0}).shape(), Shape({8, 8, 3}));
  EXPECT_EQ(decode(jpeg(jpeg_picture(8, 8, 1)), {.channels = 0}).shape(), Shape({8, 8, 1}));
}

Array filled(std::int64_t h, std::int64_t w, const std::vector<std::uint8_t>& pixel) {
  Array out({h, w, std::ssize(pixel)}, DType::u8);
  auto span = out.span<std::uint8_t>();
  for (std::size_t i = 0; i < span.size(); ++i) span[i] = pixel[i % pixel.size()];
  return out;
}

TEST(Jpeg, CmykBecomesRgb) {
  // Adobe's files, which have a marker saying so, store inverted inks: 255 is none.
  for (J_COLOR_SPACE space : {JCS_CMYK, JCS_YCCK}) {
    JpegFixture kind{.h_factor = 1, .v_factor = 1, .quality = 100, .stored = space};
    std::string file = jpeg(filled(16, 16, {200, 100, 50, 128}), kind);
    Array rgb = decode(file), grey = decode(file, {.channels = 1});
    EXPECT_NEAR(rgb.at(0), 200 * 128 / 255, 1);
    EXPECT_NEAR(rgb.at(1), 100 * 128 / 255, 1);
    EXPECT_NEAR(rgb.at(2), 50 * 128 / 255, 1);
    EXPECT_NEAR(grey.at(0), 0.299 * 100 + 0.587 * 50 + 0.114 * 25, 2);
    EXPECT_EQ(decode(file, {.channels = 4}).at(3), 255);
    EXPECT_EQ(decode(file, {.channels = 0}).shape(), Shape({16, 16, 3}));
    expect_crops_are_exact(jpeg(jpeg_picture(40, 50, 4), kind), "CMYK");
  }
  // Without the marker 0 is none.
  std::string file = jpeg(filled(16, 16, {55, 155, 205, 127}),
                          {.h_factor = 1, .v_factor = 1, .quality = 100, .stored = JCS_CMYK});
  std::size_t marker = file.find("\xff\xee");
  ASSERT_NE(marker, std::string::npos);
  file.erase(marker, 16);
  Array rgb = decode(file);
  EXPECT_NEAR(rgb.at(0), 200 * 128 / 255, 1);
  EXPECT_NEAR(rgb.at(2), 50 * 128 / 255, 1);
}

TEST(Jpeg, UsesMemoryAgainUnlessItIsHeld) {
  std::string file = jpeg(jpeg_picture(20, 30, 3));
  Array out;
  decode_jpeg(as_bytes(file), {}, out);
  const void* memory = std::as_const(out).raw();
  decode_jpeg(as_bytes(file), {.crop = Rectangle{.height = 20, .width = 30}}, out);
  EXPECT_EQ(std::as_const(out).raw(), memory);
  Array held = out, before = out.clone();
  decode_jpeg(as_bytes(jpeg(filled(20, 30, {1, 2, 3}))), {}, out);
  EXPECT_NE(std::as_const(out).raw(), memory);
  EXPECT_TRUE(identical(held, before));
  decode_jpeg(as_bytes(file), {.channels = 1}, out);
  EXPECT_EQ(out.shape(), Shape({20, 30, 1}));
}

TEST(Jpeg, RefusesOptionsThatMakeNoSense) {
  std::string file = jpeg(jpeg_picture(20, 30, 3));
  EXPECT_EQ(error(file, {.channels = 2}), "a.jpg: channels is 2, expected 0, 1, 3 or 4");
  EXPECT_EQ(error(file, {.shrink = 3}), "a.jpg: shrink is 3, expected 1, 2, 4 or 8");
  EXPECT_EQ(error(file, {.pixel_limit = 599}),
            "a.jpg: 20 x 30 pixels are more than the limit of 599; raise .pixel_limit if the file "
            "is to be trusted");
  constexpr std::int64_t huge = std::numeric_limits<std::int64_t>::max();
  for (Rectangle bad : {Rectangle{0, 0, 0, 5},
                        {0, 0, 5, 0},
                        {-1, 0, 5, 5},
                        {0, -1, 5, 5},
                        {16, 0, 5, 5},
                        {0, 26, 5, 5},
                        {20, 0, 1, 1},
                        {huge, 0, huge, 1},
                        {0, huge, 1, huge}})
    EXPECT_EQ(error(file, {.crop = bad}),
              concat("a.jpg: the crop of ", bad.height, " x ", bad.width, " pixels at (", bad.top,
                     ", ", bad.left, ") is empty or not within the image of 20 x 30"));
}

TEST(Jpeg, RepeatsWhatLibjpegSays) {
  EXPECT_EQ(error(""), "a.jpg: Empty input file (libjpeg)");
  EXPECT_EQ(error("GIF89a"), "a.jpg: Not a JPEG file: starts with 0x47 0x49 (libjpeg)");
  std::string file = jpeg(jpeg_picture(40, 40, 3));
  EXPECT_EQ(error(file.substr(0, file.size() / 2)), "a.jpg: Premature end of JPEG file (libjpeg)");
  EXPECT_EQ(error(file.substr(0, file.size() - 2)), "a.jpg: Premature end of JPEG file (libjpeg)");
  std::string without_end_marker = file.substr(0, file.size() - 2) + std::string(16, '\0');
  EXPECT_EQ(error(without_end_marker), "a.jpg: Premature end of JPEG file (libjpeg)");
}

TEST(Jpeg, EveryTruncationIsAnError) {
  for (bool progressive : {false, true}) {
    std::string file = jpeg(jpeg_picture(24, 24, 3), {.progressive = progressive});
    ASSERT_EQ(error(file), "no error");
    for (std::size_t length = 0; length < file.size(); ++length)
      ASSERT_THAT(error(file.substr(0, length)), HasSubstr("(libjpeg)")) << length;
  }
}

TEST(Jpeg, DamageIsAcceptedOnDemand) {
  std::string file = jpeg(jpeg_picture(64, 40, 3)), most = file.substr(0, file.size() * 3 / 4);
  Array whole = decode(file), rescued = decode(most, {.accept_damage = true});
  ASSERT_EQ(rescued.shape(), whole.shape());
  Rectangle top{.height = 16, .width = 40};
  EXPECT_TRUE(identical(part_of(rescued, top), part_of(whole, top)));
  // A crop needs only the data down to its lower end.
  EXPECT_TRUE(identical(decode(most, {.crop = top}), part_of(whole, top)));
  EXPECT_THAT(error("\xff\xd8\xff\xd9", {.accept_damage = true}), HasSubstr("a.jpg: "));
}

TEST(Jpeg, DamageIsAnErrorOrDecodes) {
  PhiloxStream random(philox_key(9, "damage"));
  for (bool progressive : {false, true}) {
    std::string file =
        jpeg(jpeg_picture(33, 47, 3), {.progressive = progressive, .restart_rows = 1});
    for (int i = 0; i < 400; ++i) {
      std::string bad = file;
      for (std::uint64_t n = 1 + random.below(3); n > 0; --n)
        bad[random.below(bad.size())] = static_cast<char>(random.below(256));
      JpegOptions options{.accept_damage = random.flip(0.5f), .pixel_limit = 1 << 20};
      if (random.flip(0.5f))
        options.crop = Rectangle{.top = 9, .left = 17, .height = 12, .width = 20};
      std::string message = error(bad, options);
      EXPECT_TRUE(message == "no error" || message.starts_with("a.jpg: ")) << message;
    }
  }
}

// A progressive file repeats its last scan more often than any encoder does.
TEST(Jpeg, TooManyScansAreAnError) {
  std::string file = jpeg(jpeg_picture(16, 16, 3), {.progressive = true});
  std::size_t last = file.rfind("\xff\xda");
  std::string scan = file.substr(last, file.size() - 2 - last), end = file.substr(file.size() - 2);
  std::string many = file.substr(0, last);
  for (int i = 0; i < 200; ++i) many += scan;
  EXPECT_EQ(error(many + end, {.accept_damage = true}), "a.jpg: more than 100 scans (libjpeg)");
}

TEST(Jpeg, Photographs) {
  const char* given = std::getenv("BELFRY_DATA");
  std::string folder =
      (given ? std::string(given) : BELFRY_SOURCE_DIR "/../shared/data") + "/photos";
  if (!std::filesystem::exists(folder)) GTEST_SKIP() << "no " << folder << "; set BELFRY_DATA";
  int count = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    std::string file = read_file(entry.path().string());
    Array whole = decode(file, {.accept_damage = true});
    EXPECT_TRUE(identical(whole, decode_by_libjpeg(file))) << entry.path();
    EXPECT_EQ(error(file), "no error") << entry.path();
    std::int64_t h = whole.shape()[0], w = whole.shape()[1];
    EXPECT_EQ(image_size(as_bytes(file)), (ImageSize{h, w}));
    Rectangle crop{.top = h / 5, .left = w / 7, .height = h / 2, .width = w / 3};
    EXPECT_TRUE(identical(decode(file, {.crop = crop}), part_of(whole, crop))) << entry.path();
    ++count;
  }
  EXPECT_GT(count, 0);
}

}  // namespace
}  // namespace belfry::data
