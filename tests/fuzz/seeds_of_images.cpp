// Pictures, and volumes in TIFF.

#include <utility>
#include <vector>

#include "../data/formats/bmp_bytes.h"
#include "../data/formats/image_bytes.h"
#include "../data/formats/jpeg_bytes.h"
#include "../data/formats/png_bytes.h"
#include "../data/formats/tiff_bytes.h"
#include "../data/formats/webp_bytes.h"
#include "belfry/data/formats/images/image.h"
#include "seeds.h"

namespace belfry {

using namespace data;

namespace {

using NamedFiles = std::vector<std::pair<std::string, std::string>>;

NamedFiles tiff_files(const Seeds& seeds) {
  NamedFiles out;
  auto add = [&](const std::string& name, const TiffPicture& page, const char* mode = "wl") {
    std::vector<double> values(page.h * page.w * page.samples);
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<double>(i * 7 % 251);
    write_tiff(seeds.path(name), {page, page}, {values, values}, mode);
    out.emplace_back(name, read_file(seeds.path(name)));
  };
  TiffPicture grey{.h = 5, .w = 7}, colour{.h = 5, .w = 7, .samples = 3};
  colour.photometric = PHOTOMETRIC_RGB;
  add("grey.tif", grey, "wb");
  add("big.tif", grey, "w8");
  for (auto compression :
       {COMPRESSION_LZW, COMPRESSION_ADOBE_DEFLATE, COMPRESSION_PACKBITS, COMPRESSION_JPEG}) {
    colour.compression = static_cast<std::uint16_t>(compression);
    add(concat("compression", compression, ".tif"), colour);
  }
  TiffPicture tiles{.h = 17, .w = 18, .samples = 2, .bits = 16, .separate = true, .tiled = true};
  tiles.alpha = EXTRASAMPLE_UNASSALPHA;
  add("tiles.tif", tiles);
  TiffPicture floats{.h = 4, .w = 3, .bits = 32, .format = SAMPLEFORMAT_IEEEFP};
  floats.compression = COMPRESSION_ADOBE_DEFLATE;
  floats.predictor = PREDICTOR_FLOATINGPOINT;
  add("floats.tif", floats);
  TiffPicture palette{.h = 4, .w = 3, .photometric = PHOTOMETRIC_PALETTE};
  palette.colours.assign(768, 0x1234);
  add("palette.tif", palette);
  for (std::uint16_t bits : {8, 16, 32})
    add(concat("white_is_zero", bits, ".tif"),
        {.h = 2, .w = 3, .bits = bits, .photometric = PHOTOMETRIC_MINISWHITE});
  TiffPicture lightness{.h = 5, .w = 7, .samples = 3, .photometric = PHOTOMETRIC_YCBCR};
  lightness.compression = COMPRESSION_JPEG;
  add("lightness.tif", lightness);
  // The last tag, by which samples are whole numbers, is one that nobody knows.
  std::string unknown = tiff({{}});
  unknown.replace(unknown.rfind(number(339, 2)), 2, number(0xfff0, 2));
  out.emplace_back("unknown_tag.tif", unknown);
  return out;
}

std::string exif_entry(unsigned tag, unsigned value) {
  return number(tag, 2) + number(3, 2) + number(1, 4) + number(value, 2) + number(0, 2);
}

// The directory stands in a segment of Exif data behind the beginning of the file.
std::string with_exif(const std::string& file, const std::string& directory) {
  const std::string content =
      std::string("Exif\0\0II\x2a\0", 10) + number(8, 4) + directory + number(0, 4);
  return file.substr(0, 2) + "\xff\xe1" + number(content.size() + 2, 2, true) + content
         + file.substr(2);
}

NamedFiles jpeg_files() {
  const Array colour = jpeg_picture(20, 24, 3);
  return {{"baseline.jpg", jpeg(colour)},
          {"progressive.jpg", jpeg(colour, {.progressive = true})},
          {"arithmetic.jpg", jpeg(colour, {.arithmetic = true})},
          {"grey.jpg", jpeg(jpeg_picture(9, 9, 1))},
          {"cmyk.jpg", jpeg(jpeg_picture(9, 9, 4), {.stored = JCS_YCCK})},
          {"bad_orientation.jpg", with_exif(jpeg(colour), number(1, 2) + exif_entry(0x0112, 9))}};
}

// The last scan of a progressive file again and again.
std::string jpeg_of_scans(int count) {
  const std::string file = jpeg(jpeg_picture(8, 8, 1), {.progressive = true});
  const std::size_t last = file.rfind("\xff\xda"), end = file.size() - 2;
  std::string out = file.substr(0, last);
  for (int i = 0; i < count; ++i) out += file.substr(last, end - last);
  return out + file.substr(end);
}

NamedFiles turned_files() {
  NamedFiles out;
  for (unsigned way = 1; way <= 8; ++way)
    out.emplace_back(concat("turned", way, ".jpg"),
                     with_exif(jpeg(jpeg_picture(3, 5, 3)),
                               number(2, 2) + exif_entry(0x010f, 7) + exif_entry(0x0112, way)));
  const std::string file = jpeg(jpeg_picture(3, 5, 3));
  out.emplace_back("no_turn.jpg", with_exif(file, number(1, 2) + exif_entry(0x010f, 7)));
  out.emplace_back("cut_exif.jpg", with_exif(file, number(9, 2)));
  return out;
}

/// Where decoding finds that something is wrong, or too little.
NamedFiles damaged_files(const NamedFiles& files) {
  auto changed = [](std::string file, std::size_t at) {
    file[at] = static_cast<char>(file[at] ^ 0x55);
    return file;
  };
  NamedFiles out{{"nothing", ""}, {"text", "text"}, {"short", "xy"}};
  for (const auto& [name, file] : files) {
    out.emplace_back("half_of_" + name, file.substr(0, file.size() / 2));
    out.emplace_back("changed_" + name, changed(file, file.size() / 2));
  }
  return out;
}

NamedFiles png_files() {
  const Array colour = jpeg_picture(20, 24, 3);
  PngFixture bits{.h = 2, .w = 9, .bits = 1, .rows = std::string("\0\xa5\x80\4\x5a\0", 6)};
  PngFixture palette = bits;
  palette.colour = 3;
  palette.chunks = {{"PLTE", "abcdef"}, {"tRNS", "g"}};
  PngFixture transparent{.w = 2, .colour = 2, .rows = std::string("\0abcdef", 7)};
  transparent.chunks = {{"gAMA", number(45455, 4, true)}, {"tRNS", std::string("\0a\0b\0c", 6)}};
  return {{"colour.png", text_of(encode_png(colour))},
          {"alpha.png", text_of(encode_png(jpeg_picture(5, 5, 4)))},
          {"deep.png", text_of(encode_png(colour.cast(DType::i32)))},
          {"bits.png", png(bits)},
          {"palette.png", png(palette)},
          {"transparent.png", png(transparent)},
          {"grey_alpha.png", png({.bits = 16, .colour = 4, .rows = std::string("\0abcd", 5)})},
          {"interlaced.png",
           png({.h = 9, .w = 11, .interlaced = true, .rows = interlaced_rows(9, 11)})}};
}

NamedFiles bmp_files() {
  const std::string colours(4 * 256, 'c'), row = "abcdefgh";
  const std::vector<unsigned> masks{0x3ff00000, 0xffc00, 0x3ff, 0xc0000000};
  NamedFiles out{
      {"old.bmp", bmp({.w = 2, .header = 12, .pixels = row})},
      {"masks.bmp",
       bmp({.h = -2, .bits = 32, .compression = 3, .header = 124, .masks = masks, .pixels = row})},
      {"565.bmp",
       bmp({.w = 4, .bits = 16, .compression = 3, .masks = {0xf800, 0x7e0, 0x1f}, .pixels = row})},
      {"rle8.bmp", bmp({.h = 3,
                        .w = 5,
                        .bits = 8,
                        .compression = 1,
                        .palette = colours,
                        .pixels = std::string("\2\7\0\3\1\2\3\0\0\0\0\2\1\1\3\1\0\1", 18)})},
      {"rle4.bmp", bmp({.h = 2,
                        .w = 5,
                        .bits = 4,
                        .compression = 2,
                        .palette = colours.substr(0, 64),
                        .pixels = std::string("\5\x12\0\0\0\5\x34\x56\x70\0\0\1", 12)})}};
  for (unsigned bits : {1, 4, 8, 16, 24, 32})
    out.emplace_back(concat("bits", bits, ".bmp"),
                     bmp({.h = 2,
                          .bits = bits,
                          .palette = bits > 8 ? "" : colours.substr(0, std::size_t{4} << bits),
                          .pixels = row}));
  return out;
}

NamedFiles webp_files() {
  return {{"lossy.webp", lossy_webp()},
          {"lossless.webp", lossless_webp()},
          {"lossy_alpha.webp", lossy_alpha_webp()},
          {"lossless_alpha.webp", lossless_alpha_webp()},
          {"exif.webp", exif_webp()},
          {"animated.webp", animated_webp()}};
}

}  // namespace

void write_image_seeds(const std::string& folder) {
  Seeds volumes(folder, "fuzz_volume"), seeds(folder, "fuzz_image");
  NamedFiles files = tiff_files(volumes);
  for (const NamedFiles& more : {jpeg_files(), png_files(), bmp_files(), webp_files()})
    files.insert(files.end(), more.begin(), more.end());
  // In front of the file stand the choices that the target makes: right checksums and all channels;
  // a crop; a scale.
  for (const auto& [name, file] : files) {
    seeds.write(name, std::string("\x80\0\0\0\0\0", 6) + file);
    seeds.write(name + ".crop", std::string("\x25\1\2\4\5\1", 6) + file);
  }
  for (const auto& [name, file] : turned_files())
    seeds.write(name, std::string("\x08\0\0\0\0\0", 6) + file);
  for (const auto& [name, file] : damaged_files(files))
    seeds.write(name, std::string("\x80\0\0\0\0\0", 6) + file);
  // Without right checksums, of which that of a chunk that pixels can do without is a warning.
  PngFixture transparent{.colour = 2, .rows = std::string("\0abc", 4)};
  transparent.chunks = {{"tRNS", std::string("\0a\0b\0c", 6)}};
  std::string wrong = png(transparent);
  wrong[wrong.find("tRNS") + 10] ^= 1;
  seeds.write("wrong_checksum.png", std::string(6, '\0') + wrong);
  // Damage is accepted, so that only their number is too much.
  seeds.write("scans.jpg", std::string("\x10\0\0\0\0\0", 6) + jpeg_of_scans(101));
  for (char least : {'\3', '\30'})
    seeds.write(concat("at_least", int{least}, ".jpg"),
                std::string("\x40\0\0\0\0", 5) + least + jpeg(jpeg_picture(20, 24, 3)));
}

}  // namespace belfry
