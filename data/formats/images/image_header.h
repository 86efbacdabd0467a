#pragma once
// Format, size and orientation of images from the first bytes of their files, without decoding.

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "belfry/framework/base/fields.h"

namespace belfry::data {

using belfry::to_string;  // of enumerations

/// The formats that decode_image() reads.
enum class ImageFormat { jpeg, png, bmp, webp, tiff };

constexpr auto names_of(ImageFormat) { return name_list("JPEG", "PNG", "BMP", "WebP", "TIFF"); }

/// By the first bytes. Error naming `name` and the bytes when it is none of the five.
ImageFormat image_format(std::span<const std::byte> bytes, std::string_view name = "image");

/// In pixels, as stored.
struct ImageSize {
  std::int64_t h = 0;                                 ///< height
  std::int64_t w = 0;                                 ///< width
  bool operator==(const ImageSize&) const = default;  ///< both are equal
};

/// The size that the header states; of a TIFF file that of its first page, of WebP that of the
/// canvas. Reads no pixels. Error naming `name`: another format, a header that is cut off or
/// damaged, no pixels.
ImageSize image_size(std::span<const std::byte> bytes, std::string_view name = "image");

/// Error naming `name` when `size` has more than `limit` pixels.
void check_pixel_limit(const ImageSize& size, std::int64_t limit, std::string_view name);

/// How a JPEG file's Exif data say that the stored image is to be turned for display, 1 to 8: 1 is
/// as stored, 2 mirrored left to right, 3 turned by 180 degrees, 4 mirrored top to bottom, 5
/// transposed, 6 turned clockwise by 90 degrees, 7 mirrored about the other diagonal, 8 turned
/// counterclockwise by 90. 1 also for other formats, and where there are no such data or damaged
/// ones (Exif 2.32, section 4.6.4, tag 0x0112).
int exif_orientation(std::span<const std::byte> bytes);

}  // namespace belfry::data
