#include "belfry/data/formats/images/image.h"

#include <algorithm>
#include <opencv2/core.hpp>

#include "belfry/data/formats/images/bmp.h"
#include "belfry/data/formats/images/jpeg.h"
#include "belfry/data/formats/images/jpeg_writer.h"
#include "belfry/data/formats/images/png.h"
#include "belfry/data/formats/images/tiff.h"
#include "belfry/data/formats/images/webp.h"
#include "belfry/data/formats/opencv_call.h"
#include "belfry/framework/base/error.h"

namespace belfry::data {
namespace {

// A file this much smaller than its pixels is none that PNG, BMP or TIFF could make: deflate, the
// best of their methods, stays below 1032 to 1, of pixels that are as small as one bit.
constexpr std::int64_t max_expansion = 8 * 1032;

void check_expansion(const ImageSize& size, std::size_t bytes, std::string_view name) {
  std::int64_t file = bytes;
  require(size.h <= max_expansion * file / size.w, name, ": truncated: ", size.h, " x ", size.w,
          " pixels cannot be in ", file, " bytes");
}

Array decode_tiff(std::span<const std::byte> bytes, std::string_view name) {
  const TiffPage page = tiff_pages(bytes, name, 1).front();
  require(page.samples == TiffSamples::unsigned_integer && page.bits <= 16, name, ": TIFF data of ",
          describe(page),
          "; expected 8 or 16 bits, unsigned; read_volume() reads 32 bits and floats");
  return TiffReader(bytes, name).next_page(page, name);
}

// [h, w, c] with c = 1 grey, 2 grey and alpha, 3 red, green and blue, 4 these and alpha. Samples of
// 16 bits are i32.
Array decode_stored(std::span<const std::byte> bytes, ImageFormat format, const ImageSize& size,
                    std::string_view name) {
  switch (format) {
    case ImageFormat::png:
      return decode_png(bytes, size, name);
    case ImageFormat::webp:
      return decode_webp(bytes, size, name);
    case ImageFormat::tiff:
      return decode_tiff(bytes, name);
    default:
      ensure(format == ImageFormat::bmp, "decode_stored: no decoder of ", format);
      return decode_bmp(bytes, size, name);
  }
}

Array drop_lower_bits(const Array& deep) {
  Array out(deep.shape(), DType::u8);
  std::ranges::transform(deep.span<std::int32_t>(), out.span<std::uint8_t>().begin(),
                         [](std::int32_t x) { return static_cast<std::uint8_t>(x >> 8); });
  return out;
}

// OpenCV's weights, of which there are 2^15 in all.
template <class T>
T grey_of(const T* rgb) {
  auto x = [&](int c) { return static_cast<std::uint32_t>(rgb[c]); };
  return static_cast<T>((9798 * x(0) + 19235 * x(1) + 3735 * x(2) + (1 << 14)) >> 15);
}

template <class T>
Array convert_channels(const Array& image, int channels, T opaque) {
  const Shape& shape = image.shape();
  const int stored = shape[2];
  Array out({shape[0], shape[1], channels}, image.dtype());
  const T* from = image.span<T>().data();
  const T* end = from + image.elements();
  T* to = out.span<T>().data();
  for (; from != end; from += stored, to += channels) {
    if (channels == 1) {
      to[0] = stored < 3 ? from[0] : grey_of(from);
      continue;
    }
    for (int c = 0; c < 3; ++c) to[c] = from[stored < 3 ? 0 : c];
    if (channels == 4) to[3] = stored % 2 == 0 ? from[stored - 1] : opaque;
  }
  return out;
}

Array decode_any(std::span<const std::byte> bytes, ImageFormat format, const ImageOptions& options,
                 std::string_view name) {
  const ImageSize size = image_size(bytes, name);
  check_pixel_limit(size, options.pixel_limit, name);
  if (format != ImageFormat::webp) check_expansion(size, bytes.size(), name);
  Array out = decode_stored(bytes, format, size, name);
  if (out.dtype() == DType::i32 && !options.keep_depth) out = drop_lower_bits(out);
  const int stored = out.shape()[2];
  const int channels = options.channels != 0 ? options.channels : stored == 2 ? 4 : stored;
  if (channels == stored) return out;
  return out.dtype() == DType::i32 ? convert_channels<std::int32_t>(out, channels, 65535)
                                   : convert_channels<std::uint8_t>(out, channels, 255);
}

Array turn(const Array& image, int orientation) {
  if (orientation == 1) return image;
  const Shape& shape = image.shape();
  int h = shape[0], w = shape[1];
  const int type = CV_MAKETYPE(CV_8U, static_cast<int>(shape[2]));
  const bool transposed = orientation >= 5;
  Array out({transposed ? w : h, transposed ? h : w, shape[2]}, DType::u8);
  opencv_call([&] {
    cv::Mat from(h, w, type, const_cast<void*>(image.raw()));
    cv::Mat to(transposed ? w : h, transposed ? h : w, type, out.raw());
    transposed ? cv::transpose(from, to) : from.copyTo(to);
    constexpr int left_to_right = 1, top_to_bottom = 0, both = -1;
    if (orientation == 2 || orientation == 6) cv::flip(to, to, left_to_right);
    if (orientation == 3 || orientation == 7) cv::flip(to, to, both);
    if (orientation == 4 || orientation == 8) cv::flip(to, to, top_to_bottom);
  });
  return out;
}

void check_encodable(const Array& image, const char* what, int most_channels) {
  const Shape& shape = image.shape();
  const std::int64_t channels = shape.rank() == 3 ? shape[2] : 1;
  require(image.defined() && (shape.rank() == 2 || shape.rank() == 3)
              && (channels == 1 || channels == 3 || channels == 4) && channels <= most_channels
              && shape.elements() > 0 && std::max(shape[0], shape[1]) <= 1 << 20,
          what, ": cannot encode ", image.type());
}

}  // namespace

Array decode_image(std::span<const std::byte> bytes, const ImageOptions& options,
                   std::string_view name) {
  const int channels = options.channels;
  require(channels == 0 || channels == 1 || channels == 3 || channels == 4, name, ": channels is ",
          channels, ", expected 0, 1, 3 or 4");
  ImageFormat format = image_format(bytes, name);
  if (format != ImageFormat::jpeg) return decode_any(bytes, format, options, name);
  Array out = decode_jpeg(bytes,
                          {.channels = channels,
                           .accept_damage = options.accept_damage,
                           .pixel_limit = options.pixel_limit},
                          name);
  return options.apply_orientation ? turn(out, exif_orientation(bytes)) : out;
}

std::vector<std::byte> encode_png(const Array& image) {
  require(image.dtype() == DType::u8 || image.dtype() == DType::i32,
          "encode_png: expected u8 or i32, got ", image.type());
  check_encodable(image, "encode_png", 4);
  if (image.dtype() == DType::i32)
    for (std::int32_t value : image.span<std::int32_t>())
      require(value >= 0 && value <= 65535, "encode_png: the value ", value,
              " is not within 0 to 65535");
  return write_png(image);
}

std::vector<std::byte> encode_jpeg(const Array& image, const EncodeJpegOptions& options) {
  require(image.dtype() == DType::u8, "encode_jpeg: expected u8, got ", image.type());
  require(options.quality >= 1 && options.quality <= 100, "encode_jpeg: quality is ",
          options.quality, ", expected 1 to 100");
  check_encodable(image, "encode_jpeg", 3);
  return write_jpeg(image, options.quality);
}

}  // namespace belfry::data
