#pragma once
// Images in files: decoding and encoding. See jpeg.h for parts of JPEG images, image_header.h for
// sizes without decoding.

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "belfry/data/formats/images/image_header.h"
#include "belfry/framework/tensor/array.h"

namespace belfry::data {

/// Options of decode_image().
struct ImageOptions {
  /// 3 RGB, 1 grey, 4 RGB and alpha (255 where the file has none); 0: 1, 3 or 4 as stored, where
  /// grey with alpha counts as 4 and a palette as 3, or 4 if some of it is transparent; in BMP, 1
  /// if it is of greys.
  int channels = 3;
  /// Images of 16 bits become i32 with 0 to 65535; otherwise the lower 8 bits are dropped.
  bool keep_depth = false;
  /// Turn photographs the way up that a JPEG file's Exif data say. As in tf.image and torchvision,
  /// pixels are by default taken as they are stored.
  bool apply_orientation = false;
  bool accept_damage = false;  ///< of JPEG data: see JpegOptions
  /// An image with more is an Error: decoding takes several bytes a pixel, and of some formats a
  /// few bytes suffice to ask for that. By default 2^26, 67 million (Pillow warns above 89
  /// million).
  std::int64_t pixel_limit = 1 << 26;
};

/// Decodes a JPEG, PNG, BMP, WebP (not animated) or TIFF image: u8 [h, w, channels] in the order
/// red, green, blue, alpha. Grey from colour is 0.299 red + 0.587 green + 0.114 blue; alpha is
/// dropped, not blended, where it is not asked for. Of TIFF the first page is read, of 8 or 16 bits
/// or with a palette of 8 bits, as decode_volume() reads it: where 0 is white, grey is inverted.
///
/// JPEG is decode_jpeg()'s, PNG libpng's, WebP libwebp's, TIFF libtiff's; of BMP see bmp.h for what
/// is read. Error naming `name`: image_size()'s, more pixels than the limit, data that are damaged
/// or cut off (LZW and PackBits in TIFF and pixels in BMP have no checksum), channels other than
/// those above. May be called from any thread. Prints nothing.
Array decode_image(std::span<const std::byte> bytes, const ImageOptions& options = {},
                   std::string_view name = "image");

/// A PNG file of an image [h, w] or [h, w, 1 | 3 | 4]: u8, or i32 with 0 to 65535, which is stored
/// in 16 bits. Lossless. Error: another type or shape, no pixels, values outside that range.
std::vector<std::byte> encode_png(const Array& image);

/// Options of encode_jpeg().
struct EncodeJpegOptions {
  int quality = 95;  ///< 1 to 100
};

/// A JPEG file of an image u8 [h, w] or [h, w, 1 | 3]; colour is stored at half resolution (4:2:0).
/// Error: another type or shape, no pixels, more than 65500 a side, a quality outside its range.
std::vector<std::byte> encode_jpeg(const Array& image, const EncodeJpegOptions& options = {});

}  // namespace belfry::data
