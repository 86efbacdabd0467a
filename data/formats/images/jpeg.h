#pragma once
// JPEG images, and parts of them. Decoding is libjpeg-turbo's.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <variant>

#include "belfry/data/formats/images/rectangle.h"
#include "belfry/framework/tensor/array.h"

namespace belfry::data {

/// A size in pixels that a result is not to fall below.
struct AtLeast {
  std::int64_t h = 0;
  std::int64_t w = 0;
};

struct JpegOptions {
  int channels = 3;  ///< 3 RGB, 1 grey, 4 RGB and alpha, which is 255; 0: 1 or 3 as stored
  std::optional<Rectangle> crop = {};  ///< in pixels of the whole image at full size
  /// Decodes at 1/1, 1/2, 1/4 or 1/8 of the size, which takes much less time than resizing later.
  /// AtLeast chooses the smallest of them at which the (cropped) result is still as large as it
  /// says, and 1/1 when none is: enough for a resize that follows.
  std::variant<int, AtLeast> shrink = 1;
  bool accept_damage = false;          ///< decode what there is where libjpeg only warns
  std::int64_t pixel_limit = 1 << 26;  ///< of the whole image at full size
};

/// The shrink that AtLeast chooses for the part `crop`: 1, 2, 4 or 8.
int shrink_for(const Rectangle& crop, const AtLeast& wanted);

/// Decodes a JPEG image: u8 [h, w, channels]. Baseline, extended and progressive files of 8 bits;
/// CMYK becomes RGB as red = cyan x black / 255 and so on (of the inverted values that Adobe's
/// files store; others are inverted first), and grey is then 0.299 red + 0.587 green + 0.114 blue.
/// Exif orientation is not applied: see exif_orientation().
///
/// A crop decodes only the rows down to its lower end, and of these the blocks around it. It equals
/// the same part of the whole decoded image, to the last bit. Of an image H x W shrunk to 1 / s,
/// which is ceil(H / s) x ceil(W / s), it is the part from floor(top / s) to
/// ceil((top + height) / s), and likewise from left to right. Damage below or beside the crop may
/// go unnoticed.
///
/// Error naming `name` and with what libjpeg says: data that are damaged or cut off, not JPEG, of
/// 12 bits, lossless, or of more than 100 scans; more pixels than the limit; a crop that is empty
/// or not within the image; channels or shrink other than those above. May be called from any
/// thread.
Array decode_jpeg(std::span<const std::byte> bytes, const JpegOptions& options = {},
                  std::string_view name = "JPEG image");

/// The same into `out`, whose memory is used again where it has the right size and nobody else
/// holds it. After an Error its elements are undefined.
void decode_jpeg(std::span<const std::byte> bytes, const JpegOptions& options, Array& out,
                 std::string_view name = "JPEG image");

}  // namespace belfry::data
