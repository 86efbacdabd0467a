#include "belfry/data/formats/images/tiff.h"

#include "../../../framework/base/temporary_folder.h"
#include "../image_bytes.h"
#include "../tiff_bytes.h"
#include "belfry/data/formats/arrays/volume.h"
#include "belfry/data/formats/images/image.h"
#include "belfry/framework/base/file.h"
#include "pipeline.h"

namespace belfry::data {
namespace {

using ::testing::HasSubstr;
using Doubles = std::vector<double>;

std::string tiff_file(const std::vector<TiffPicture>& pages, const std::vector<Doubles>& values,
                      const char* mode = "wl") {
  TemporaryFolder folder;
  write_tiff(folder / "a.tif", pages, values, mode);
  return read_file(folder / "a.tif");
}

Array image(const std::string& file, const ImageOptions& options = {}) {
  return decode_image(as_bytes(file), options, "a");
}
Array volume(const std::string& file) { return decode_volume(as_bytes(file), {}, "a"); }
std::string error(const std::string& file) {
  return error_of([&] { volume(file); });
}

Doubles doubles(const Array& array) {
  Doubles out;
  for (std::int64_t i = 0; i < array.elements(); ++i) out.push_back(array.at(i));
  return out;
}

// Values of the whole range of a sample, all bytes in use.
Doubles pixels_for(const TiffPicture& p) {
  PhiloxStream random(philox_key(3, "tiff"));
  Doubles out;
  for (std::uint32_t i = 0; i < p.h * p.w * p.samples; ++i) {
    std::uint32_t x = random.next_u32();
    if (i % 4 == 1) x = static_cast<std::uint32_t>(out.back());  // so that there is some repetition
    if (p.format == SAMPLEFORMAT_IEEEFP)
      out.push_back(static_cast<float>(x) / 1024 - 1000);
    else
      out.push_back(p.bits == 32 ? x : x & ((1u << p.bits) - 1));
  }
  return out;
}

DType dtype_for(const TiffPicture& p) {
  return p.format == SAMPLEFORMAT_IEEEFP ? DType::f32
         : p.bits == 8                   ? DType::u8
         : p.bits == 16                  ? DType::i32
                                         : DType::i64;
}

std::vector<TiffPicture> all_layouts() {
  std::vector<TiffPicture> out;
  for (auto compression :
       {COMPRESSION_NONE, COMPRESSION_LZW, COMPRESSION_PACKBITS, COMPRESSION_ADOBE_DEFLATE})
    for (bool separate : {false, true})
      for (bool tiled : {false, true})
        for (auto [bits, format] : {std::pair(8, SAMPLEFORMAT_UINT),
                                    {16, SAMPLEFORMAT_UINT},
                                    {32, SAMPLEFORMAT_UINT},
                                    {32, SAMPLEFORMAT_IEEEFP}})
          for (int samples : {1, 2, 3, 4})
            out.push_back(
                {.h = 19,
                 .w = 21,
                 .samples = static_cast<std::uint16_t>(samples),
                 .bits = static_cast<std::uint16_t>(bits),
                 .format = static_cast<std::uint16_t>(format),
                 .photometric = static_cast<std::uint16_t>(samples < 3 ? PHOTOMETRIC_MINISBLACK
                                                                       : PHOTOMETRIC_RGB),
                 .compression = static_cast<std::uint16_t>(compression),
                 .separate = separate,
                 .tiled = tiled,
                 .alpha = static_cast<std::uint16_t>(samples % 2 ? 0 : EXTRASAMPLE_UNASSALPHA)});
  return out;
}

std::string describe(const TiffPicture& p) {
  return concat("samples ", p.samples, ", bits ", p.bits, ", format ", p.format, ", compression ",
                p.compression, p.separate ? ", planes" : "", p.tiled ? ", tiles" : "");
}

TEST(Tiff, ReadsEveryLayout) {
  for (const TiffPicture& p : all_layouts())
    for (const char* mode : {"wl", "wb", "w8"}) {
      SCOPED_TRACE(describe(p) + mode);
      const Doubles values = pixels_for(p);
      const std::string file = tiff_file({p}, {values}, mode);
      TiffReader reader(as_bytes(file), "a");
      Array page = reader.next_page(tiff_pages(as_bytes(file), "a").at(0), "a");
      ASSERT_EQ(page.type(), (TensorType{{19, 21, p.samples}, dtype_for(p)}));
      EXPECT_EQ(doubles(page), values);
    }
}

TEST(Tiff, UndoesPredictors) {
  for (auto compression : {COMPRESSION_LZW, COMPRESSION_ADOBE_DEFLATE})
    for (bool floating : {false, true}) {
      TiffPicture p{.h = 9, .w = 5, .samples = 3, .bits = 32, .photometric = PHOTOMETRIC_RGB};
      p.compression = static_cast<std::uint16_t>(compression);
      p.format = floating ? SAMPLEFORMAT_IEEEFP : SAMPLEFORMAT_UINT;
      p.predictor = floating ? PREDICTOR_FLOATINGPOINT : PREDICTOR_HORIZONTAL;
      Doubles values = pixels_for(p);
      // libtiff 4.5 does not write the predictor of floats as its reader wants it when it swaps
      // bytes.
      EXPECT_EQ(doubles(volume(tiff_file({p}, {values}, floating ? "wl" : "wb"))), values)
          << describe(p);
    }
}

TEST(Tiff, PlanesOfSixteenBitsAndFloatsAreInterleaved) {
  TiffPicture p{.w = 2, .samples = 3, .bits = 16, .photometric = PHOTOMETRIC_RGB, .separate = true};
  std::string file = tiff_file({p}, {{1, 2, 3, 0x1234, 0x5678, 0xffff}});
  EXPECT_EQ(doubles(volume(file)), (Doubles{1, 2, 3, 0x1234, 0x5678, 0xffff}));
  EXPECT_EQ(doubles(image(file, {.keep_depth = true})), (Doubles{1, 2, 3, 0x1234, 0x5678, 0xffff}));
  EXPECT_EQ(doubles(image(file)), (Doubles{0, 0, 0, 0x12, 0x56, 0xff}));
  p.bits = 32;
  p.format = SAMPLEFORMAT_IEEEFP;
  EXPECT_EQ(doubles(volume(tiff_file({p}, {{1.5, -2, 3, 4, 5, 6}}))),
            (Doubles{1.5, -2, 3, 4, 5, 6}));
}

TEST(Tiff, AlphaIsDroppedAndNotBlended) {
  for (std::uint16_t alpha : {EXTRASAMPLE_UNASSALPHA, EXTRASAMPLE_ASSOCALPHA, 0})
    for (std::uint16_t bits : {8, 16}) {
      TiffPicture p{.w = 2, .samples = 4, .bits = bits, .photometric = PHOTOMETRIC_RGB};
      p.alpha = alpha;
      std::string file = tiff_file({p}, {{200, 100, 50, 0, 10, 20, 30, 128}});
      ImageOptions deep{.channels = 4, .keep_depth = true};
      EXPECT_EQ(doubles(image(file, deep)), (Doubles{200, 100, 50, 0, 10, 20, 30, 128}));
      deep.channels = 3;
      EXPECT_EQ(doubles(image(file, deep)), (Doubles{200, 100, 50, 10, 20, 30}));
      EXPECT_EQ(doubles(volume(file)), (Doubles{200, 100, 50, 10, 20, 30}));
    }
  TiffPicture grey{.w = 2, .samples = 2, .alpha = EXTRASAMPLE_UNASSALPHA};
  std::string file = tiff_file({grey}, {{7, 0, 9, 255}});
  EXPECT_EQ(doubles(volume(file)), (Doubles{7, 9}));
  EXPECT_EQ(doubles(image(file, {.channels = 1})), (Doubles{7, 9}));
  EXPECT_EQ(doubles(image(file, {.channels = 0})), (Doubles{7, 7, 7, 0, 9, 9, 9, 255}));
}

TEST(Tiff, OrientationIsNotApplied) {
  for (std::uint16_t orientation = 1; orientation <= 8; ++orientation)
    for (std::uint16_t bits : {8, 16}) {
      TiffPicture p{.h = 2, .w = 3, .bits = bits, .orientation = orientation};
      std::string file = tiff_file({p}, {{1, 2, 3, 4, 5, 6}});
      EXPECT_EQ(doubles(volume(file)), (Doubles{1, 2, 3, 4, 5, 6}));
      EXPECT_EQ(doubles(image(file, {.channels = 1, .keep_depth = true})),
                (Doubles{1, 2, 3, 4, 5, 6}));
    }
}

TEST(Tiff, ZeroIsBlack) {
  TiffPicture p{.w = 2, .samples = 2, .photometric = PHOTOMETRIC_MINISWHITE};
  p.alpha = EXTRASAMPLE_UNASSALPHA;
  std::string file = tiff_file({p}, {{0, 40, 250, 41}});
  EXPECT_EQ(doubles(volume(file)), (Doubles{255, 5}));
  EXPECT_EQ(doubles(image(file, {.channels = 4})), (Doubles{255, 255, 255, 40, 5, 5, 5, 41}));
  p = {.w = 2, .bits = 16, .photometric = PHOTOMETRIC_MINISWHITE};
  EXPECT_EQ(doubles(volume(tiff_file({p}, {{0, 65530}}))), (Doubles{65535, 5}));
  p.bits = 32;
  EXPECT_EQ(doubles(volume(tiff_file({p}, {{0, 4294967290}}))), (Doubles{4294967295, 5}));
  p.format = SAMPLEFORMAT_IEEEFP;
  EXPECT_THAT(error(tiff_file({p}, {{0, 1}})), HasSubstr("photometric interpretation 0; expected"));
}

TEST(Tiff, PalettesBecomeColours) {
  TiffPicture p{.w = 3, .photometric = PHOTOMETRIC_PALETTE};
  p.colours.resize(768);
  auto set = [&](std::size_t index, int red, int green, int blue) {
    p.colours[index] = static_cast<std::uint16_t>(red);
    p.colours[256 + index] = static_cast<std::uint16_t>(green);
    p.colours[512 + index] = static_cast<std::uint16_t>(blue);
  };
  set(1, 0x1234, 0x5678, 0x9abc);
  set(255, 0xffff, 0, 0x0100);
  std::string file = tiff_file({p}, {{255, 1, 0}});
  EXPECT_EQ(doubles(volume(file)), (Doubles{255, 0, 1, 0x12, 0x56, 0x9a, 0, 0, 0}));
  EXPECT_EQ(doubles(image(file, {.channels = 0})), doubles(volume(file)));
  set(1, 10, 20, 30);  // colours of 8 bits
  set(255, 255, 0, 1);
  EXPECT_EQ(doubles(volume(tiff_file({p}, {{255, 1, 0}}))),
            (Doubles{255, 0, 1, 10, 20, 30, 0, 0, 0}));
}

TEST(Tiff, ReadsJpegWithin) {
  for (auto photometric : {PHOTOMETRIC_YCBCR, PHOTOMETRIC_RGB})
    for (bool tiled : {false, true}) {
      TiffPicture p{.h = 20, .w = 24, .samples = 3, .compression = COMPRESSION_JPEG};
      p.photometric = static_cast<std::uint16_t>(photometric);
      p.tiled = tiled;
      Doubles values;
      for (int i = 0; i < 20 * 24; ++i) values.insert(values.end(), {200., 100., 50. + i / 24});
      Array out = volume(tiff_file({p}, {values}));
      ASSERT_EQ(out.shape(), Shape({1, 20, 24, 3}));
      for (std::size_t i = 0; i < values.size(); ++i) {
        // Where a tile goes beyond the page, its blocks change colour.
        bool whole_block = !tiled || (i / 3 % 24 < 16 && i / 72 < 16);
        if (!whole_block) continue;
        ASSERT_NEAR(out.at(static_cast<std::int64_t>(i)), values[i], 8) << i;
      }
    }
}

TEST(Tiff, PagesFollowOneAnother) {
  TiffPicture p{.h = 4, .w = 2, .compression = COMPRESSION_LZW};
  Doubles first{1, 2, 3, 4, 5, 6, 7, 8}, second{9, 9, 9, 9, 8, 8, 8, 8};
  Doubles both = first;
  both.insert(both.end(), second.begin(), second.end());
  EXPECT_EQ(doubles(volume(tiff_file({p, p}, {first, second}))), both);
}

TEST(Tiff, RefusesOtherKinds) {
  auto refused = [](TiffPicture p, const char* why) {
    EXPECT_THAT(error(tiff_file({p}, {Doubles(12)})), HasSubstr(why));
  };
  const char* kinds = "; expected grey (0, 1) or RGB (2), also with alpha, of 8, 16 or 32 bits";
  refused({.format = SAMPLEFORMAT_INT}, kinds);
  refused({.samples = 3}, kinds);
  refused({.samples = 5, .photometric = PHOTOMETRIC_RGB}, kinds);
  refused({.samples = 4, .photometric = PHOTOMETRIC_SEPARATED}, kinds);
  refused({.samples = 3, .photometric = PHOTOMETRIC_CIELAB}, kinds);
  refused({.bits = 16,
           .photometric = PHOTOMETRIC_PALETTE,
           .colours = std::vector<std::uint16_t>(3 * 65536)},
          kinds);
  std::string file = tiff({{.compression = 34926}});
  EXPECT_THAT(error(file), HasSubstr("a: page 0: TIFF data of compression 34926, expected none"));
}

// Noise, and a run that compresses.
Doubles noise(std::uint32_t count) {
  PhiloxStream random(philox_key(9, "noise"));
  Doubles out(count);
  for (std::size_t i = 0; i < count / 2; ++i) out[i] = static_cast<double>(random.below(256));
  return out;
}

TEST(Tiff, AFlippedBitInDeflatedPixelsIsAnErrorOrDoesNotMatter) {
  for (bool tiled : {false, true}) {
    TiffPicture p{.h = 17, .w = 18, .compression = COMPRESSION_ADOBE_DEFLATE, .tiled = tiled};
    const Doubles values = noise(17 * 18);
    const std::string file = tiff_file({p}, {values});
    std::size_t errors = 0, pixels = file.find("\x78", 8), end = file.size() - 200;
    for (std::size_t bit = 8 * pixels; bit < 8 * end; ++bit) {
      std::string bad = file;
      bad[bit / 8] = static_cast<char>(bad[bit / 8] ^ 1 << bit % 8);
      Doubles got;
      std::string message = error_of([&] { got = doubles(image(bad, {.channels = 1})); });
      if (message == "no error")
        ASSERT_EQ(got, values) << bit;
      else
        ++errors;
    }
    EXPECT_GT(errors, 1000u);
  }
}

// LZW has no checksum: a code that became another one gives other pixels.
TEST(Tiff, LzwThatCannotBeIsAnError) {
  TiffPicture p{.h = 3, .w = 100, .compression = COMPRESSION_LZW};
  const Doubles values = noise(300);
  const std::string file = tiff_file({p}, {values});
  ASSERT_EQ(doubles(volume(file)), values);
  std::size_t errors = 0;
  for (std::size_t bit = 8 * 8; bit < 8 * 200; ++bit) {
    std::string bad = file;
    bad[bit / 8] = static_cast<char>(bad[bit / 8] ^ 1 << bit % 8);
    std::string message = error_of([&] { EXPECT_EQ(volume(bad).elements(), 300); });
    if (message == "no error") continue;
    EXPECT_THAT(message, HasSubstr("a: page 0: damaged TIFF data: strip 0: "));
    ++errors;
  }
  EXPECT_GT(errors, 100u);
}

TEST(Tiff, PixelsThatEndEarlyAreAnError) {
  for (auto compression : {5u, 8u, 32773u}) {
    TiffFixture short_one{.h = 40, .w = 50, .pixels = std::string("\x80\x0b\x60\x50\x01", 5)};
    short_one.compression = compression;
    EXPECT_THAT(error(tiff({short_one})), HasSubstr("a: page 0: damaged TIFF data: "));
    EXPECT_THAT(error_of([&] { image(tiff({short_one})); }), HasSubstr("a: damaged TIFF data: "));
  }
}

}  // namespace
}  // namespace belfry::data
