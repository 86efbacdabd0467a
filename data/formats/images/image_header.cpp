#include "belfry/data/formats/images/image_header.h"

#include <algorithm>
#include <cstdlib>
#include <optional>

#include "belfry/data/formats/binary_view.h"
#include "belfry/data/formats/images/tiff_header.h"

namespace belfry::data {
namespace {

using namespace std::string_view_literals;

std::string first_bytes(const BinaryView& file) {
  constexpr const char* digits = "0123456789abcdef";
  std::string out;
  for (std::int64_t i = 0; i < std::min<std::int64_t>(file.size(), 8); ++i) {
    std::uint8_t byte = file.u8(i);
    out += concat(i ? " " : "", digits[byte >> 4], digits[byte & 15]);
  }
  return out.empty() ? "nothing" : out;
}

struct Segment {
  int marker = 0;
  std::int64_t offset = 0;  // of the marker's length field
  std::int64_t size = 0;    // which the length field states, itself included
};

// Calls visit(Segment) for the segments before the pixels, until it returns true.
template <class Visit>
void for_each_segment(const BinaryView& file, Visit visit) {
  std::int64_t at = 2;
  while (true) {
    require(file.u8(at) == 0xff, file.name(), ": expected a JPEG marker at byte ", at);
    while (file.u8(at) == 0xff) ++at;
    int marker = file.u8(at++);
    bool bare = marker == 0x01 || (marker >= 0xd0 && marker <= 0xd7);  // TEM, RSTn
    if (bare) continue;
    if (marker == 0xd9 || marker == 0xda) return;  // EOI, SOS
    Segment segment{marker, at, file.u16(at)};
    require(segment.size >= 2, file.name(), ": the JPEG segment at byte ", at, " has length ",
            segment.size, ", expected at least 2");
    if (visit(segment)) return;
    at += segment.size;
  }
}

bool starts_frame(int marker) {
  return marker >= 0xc0 && marker <= 0xcf && marker != 0xc4 && marker != 0xc8 && marker != 0xcc;
}

ImageSize jpeg_size(const BinaryView& file) {
  std::optional<ImageSize> out;
  for_each_segment(file, [&](Segment s) {
    if (starts_frame(s.marker))
      out = ImageSize{.h = file.u16(s.offset + 3), .w = file.u16(s.offset + 5)};
    return out.has_value();
  });
  require(out, file.name(), ": JPEG data without a frame header");
  return *out;
}

ImageSize png_size(const BinaryView& file) {
  require(file.spells(12, "IHDR"), file.name(), ": PNG data without IHDR at byte 12");
  return {.h = file.u32(20), .w = file.u32(16)};
}

ImageSize bmp_size(const BinaryView& file) {
  bool old = file.u32(14) == 12;  // OS/2's header
  if (old) return {.h = file.u16(20), .w = file.u16(18)};
  // A negative height says that the rows are stored from the top.
  std::int32_t h = file.u32(22), w = file.u32(18);
  return {.h = std::abs(std::int64_t{h}), .w = w};
}

ImageSize webp_size(const BinaryView& file) {
  auto u24 = [&](std::int64_t at) { return std::int64_t{file.u16(at)} | file.u8(at + 2) << 16; };
  if (file.spells(12, "VP8X")) return {.h = u24(27) + 1, .w = u24(24) + 1};
  if (file.spells(12, "VP8L")) {
    require(file.u8(20) == 0x2f, file.name(), ": no VP8L signature at byte 20");
    std::uint32_t bits = file.u32(21);
    return {.h = (bits >> 14 & 0x3fff) + 1, .w = (bits & 0x3fff) + 1};
  }
  require(file.spells(12, "VP8 ") && file.spells(23, "\x9d\x01\x2a"), file.name(),
          ": WebP data without a VP8, VP8L or VP8X header at byte 12");
  return {.h = file.u16(28) & 0x3fff, .w = file.u16(26) & 0x3fff};
}

ImageSize tiff_size(std::span<const std::byte> bytes, std::string_view name) {
  TiffPage page = tiff_pages(bytes, name, 1).front();
  return {.h = page.h, .w = page.w};
}

// The orientation in the TIFF data within Exif.
int orientation_of(std::span<const std::byte> exif) {
  BinaryView order(exif, "Exif data");
  BinaryView data(exif, "Exif data",
                  order.spells(0, "MM") ? std::endian::big : std::endian::little);
  std::int64_t directory = data.u32(4);
  int entries = data.u16(directory);
  for (int i = 0; i < entries; ++i) {
    std::int64_t entry = directory + 2 + 12 * i;
    if (data.u16(entry) != 0x0112) continue;
    int value = data.u16(entry + 8);
    return value >= 1 && value <= 8 ? value : 1;
  }
  return 1;
}

}  // namespace

ImageFormat image_format(std::span<const std::byte> bytes, std::string_view name) {
  BinaryView file(bytes, name);
  if (file.spells(0, "\xff\xd8\xff")) return ImageFormat::jpeg;
  if (file.spells(0, "\x89PNG\r\n\x1a\n")) return ImageFormat::png;
  if (file.spells(0, "BM")) return ImageFormat::bmp;
  if (file.spells(0, "RIFF") && file.spells(8, "WEBP")) return ImageFormat::webp;
  if (is_tiff(bytes)) return ImageFormat::tiff;
  fail(name, ": expected JPEG, PNG, BMP, WebP or TIFF data, but they begin with ",
       first_bytes(file), file.size() > 0 ? " (hexadecimal)" : "");
}

ImageSize image_size(std::span<const std::byte> bytes, std::string_view name) {
  ImageFormat format = image_format(bytes, name);
  bool big_endian = format == ImageFormat::jpeg || format == ImageFormat::png;
  BinaryView file(bytes, name, big_endian ? std::endian::big : std::endian::little);
  ImageSize out = format == ImageFormat::jpeg   ? jpeg_size(file)
                  : format == ImageFormat::png  ? png_size(file)
                  : format == ImageFormat::bmp  ? bmp_size(file)
                  : format == ImageFormat::webp ? webp_size(file)
                                                : tiff_size(bytes, name);
  require(out.h > 0 && out.w > 0, name, ": ", format, " data of ", out.h, " x ", out.w, " pixels");
  return out;
}

void check_pixel_limit(const ImageSize& size, std::int64_t limit, std::string_view name) {
  require(size.h == 0 || size.w <= limit / size.h, name, ": ", size.h, " x ", size.w,
          " pixels are more than the limit of ", limit,
          "; raise .pixel_limit if the file is to be "
          "trusted");
}

int exif_orientation(std::span<const std::byte> bytes) {
  int out = 1;
  try {
    BinaryView file(bytes, "image", std::endian::big);
    if (!file.spells(0, "\xff\xd8")) return 1;
    for_each_segment(file, [&](Segment s) {
      bool found = s.marker == 0xe1 && file.spells(s.offset + 2, "Exif\0\0"sv);
      if (found) out = orientation_of(file.slice(s.offset + 8, s.size - 8));
      return found;
    });
  } catch (const Error&) {
    // Damaged metadata do not make an image unreadable; damaged pixels are found when decoding.
    return 1;
  }
  return out;
}

}  // namespace belfry::data
