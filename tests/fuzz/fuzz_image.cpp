// Fuzzes decode_image, whose images are encoded again, image_size, exif_orientation and
// decode_jpeg. The first six bytes choose a crop, its scale and the channels, and whether the
// checksums of PNG files are put right: no change gets past them otherwise.

#include <zlib.h>

#include <array>
#include <cstdlib>
#include <vector>

#include "belfry/data/formats/images/image.h"
#include "belfry/data/formats/images/jpeg.h"
#include "belfry/framework/base/error.h"

using namespace belfry;
using namespace belfry::data;

namespace {

constexpr std::int64_t pixel_limit = 1 << 20;

template <class Body>
void swallow_errors(Body body) {
  try {
    body();
  } catch (const Error&) {
  }
}

std::vector<std::uint8_t> with_right_checksums(std::span<const std::uint8_t> png) {
  std::vector<std::uint8_t> out(png.begin(), png.end());
  auto big_endian = [&](std::size_t at) {
    return std::size_t{out[at]} << 24 | out[at + 1] << 16 | out[at + 2] << 8 | out[at + 3];
  };
  constexpr std::size_t signature = 8, around = 12;  // length, type and checksum of a chunk
  for (std::size_t at = signature; at + around <= out.size();) {
    const std::size_t size = big_endian(at);
    if (size > out.size() - at - around) break;
    const auto sum = crc32(0, &out[at + 4], static_cast<uInt>(size + 4));
    for (std::size_t i = 0; i < 4; ++i)
      out[at + 8 + size + i] = static_cast<std::uint8_t>(sum >> (24 - 8 * i));
    at += around + size;
  }
  return out;
}

void check_encoders(const Array& image) {
  std::vector<std::byte> png, jpeg;
  swallow_errors([&] { png = encode_png(image); });
  if (!png.empty() && !identical(decode_image(png, {.channels = 0, .keep_depth = true}), image))
    std::abort();
  swallow_errors([&] { jpeg = encode_jpeg(image); });
  if (!jpeg.empty() && decode_image(jpeg, {.channels = 0}).shape() != image.shape()) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  constexpr std::size_t choices = 6;
  if (size < choices) return 0;
  std::vector<std::uint8_t> content(bytes + choices, bytes + size);
  if (bytes[0] & 128) content = with_right_checksums(content);
  auto file = std::as_bytes(std::span(content));
  const int channels = std::array{0, 1, 3, 4}[bytes[0] & 3];
  swallow_errors([&] { image_size(file); });
  if (exif_orientation(file) < 1 || exif_orientation(file) > 8) std::abort();
  Array image;
  swallow_errors([&] {
    image = decode_image(file, {.channels = channels,
                                .keep_depth = (bytes[0] & 4) != 0,
                                .apply_orientation = (bytes[0] & 8) != 0,
                                .pixel_limit = pixel_limit});
  });
  if (image.defined() && image.elements() <= 1 << 12) check_encoders(image);

  JpegOptions options{
      .channels = channels, .accept_damage = (bytes[0] & 16) != 0, .pixel_limit = pixel_limit};
  if (bytes[0] & 32)
    options.crop =
        Rectangle{.top = bytes[1], .left = bytes[2], .height = bytes[3], .width = bytes[4]};
  options.shrink = 1 << bytes[5] % 4;
  if (bytes[0] & 64) options.shrink = AtLeast{.h = bytes[5], .w = bytes[5]};
  Array out;
  swallow_errors([&] { decode_jpeg(file, options, out); });
  options.crop.reset();
  swallow_errors([&] { decode_jpeg(file, options, out); });
  return 0;
}
