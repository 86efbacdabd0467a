#include "belfry/data/formats/image.h"

#include <algorithm>
#include <array>
#include <limits>
#include <opencv2/imgcodecs.hpp>
#include <opencv2/imgproc.hpp>

#include "belfry/data/formats/jpeg.h"
#include "belfry/data/formats/tiff.h"
#include "belfry/framework/base/error.h"

namespace belfry::data {
namespace {

// A file this much smaller than its pixels is none that PNG, BMP or TIFF could make: deflate, the
// best of their methods, stays below 1032 to 1, of pixels that are as small as one bit.
constexpr std::int64_t max_expansion = 8 * 1032;

void check_expansion(const ImageSize& size, std::size_t bytes, std::string_view name) {
  auto file = static_cast<std::int64_t>(bytes);
  require(size.h <= max_expansion * file / size.w, name, ": truncated: ", size.h, " x ", size.w,
          " pixels cannot be in ", file, " bytes");
}

// In OpenCV's order, blue first: 1, 3 or 4 channels of 8 or 16 bits.
cv::Mat decode_stored(std::span<const std::byte> bytes, ImageFormat format, std::string_view name) {
  require(bytes.size() <= std::numeric_limits<int>::max(), name, ": ", bytes.size(),
          " bytes, more than OpenCV decodes");
  cv::Mat file(1, static_cast<int>(bytes.size()), CV_8U, const_cast<std::byte*>(bytes.data()));
  cv::Mat out;
  try {
    out = cv::imdecode(file, cv::IMREAD_UNCHANGED);
  } catch (const cv::Exception& error) {
    fail(name, ": damaged ", format, " data: ", error.err, " (OpenCV)");
  }
  require(!out.empty(), name, ": damaged ", format, " data: OpenCV cannot decode them");
  int channels = out.channels();
  require((out.depth() == CV_8U || out.depth() == CV_16U)
              && (channels == 1 || channels == 3 || channels == 4),
          name, ": ", format, " data of an unusual kind: ", channels, " channels of ",
          8 * out.elemSize1(), " bits");
  return out;
}

// As decode_stored().
cv::Mat decode_tiff(std::span<const std::byte> bytes, std::string_view name) {
  const TiffPage page = tiff_pages(bytes, name, 1).front();
  require(page.samples == TiffSamples::unsigned_integer && page.bits <= 16, name, ": TIFF data of ",
          describe(page),
          "; expected 8 or 16 bits, unsigned; read_volume() reads 32 bits and floats");
  Array pixels = TiffReader(bytes, name).next_page(page, name);
  const auto h = static_cast<int>(page.h), w = static_cast<int>(page.w);
  const auto channels = static_cast<int>(pixels.shape()[2]);
  const int depth = pixels.dtype() == DType::u8 ? CV_8U : CV_32S;
  cv::Mat from(h, w, CV_MAKETYPE(depth, channels), pixels.raw());
  cv::Mat out(h, w, CV_MAKETYPE(depth, channels == 2 ? 4 : channels));
  // Pairs: from this channel to that one.
  static const std::array<std::vector<int>, 4> orders{
      {{0, 0}, {0, 0, 0, 1, 0, 2, 1, 3}, {0, 2, 1, 1, 2, 0}, {0, 2, 1, 1, 2, 0, 3, 3}}};
  cv::mixChannels(from, out, orders[static_cast<std::size_t>(channels - 1)]);
  if (depth == CV_32S) out.convertTo(out, CV_16U);
  return out;
}

void drop_lower_bits(cv::Mat& image) {
  cv::Mat out(image.size(), CV_MAKETYPE(CV_8U, image.channels()));
  for (int row = 0; row < image.rows; ++row) {
    const auto* from = image.ptr<std::uint16_t>(row);
    std::transform(from, from + image.cols * image.channels(), out.ptr<std::uint8_t>(row),
                   [](std::uint16_t x) { return static_cast<std::uint8_t>(x >> 8); });
  }
  image = out;
}

void convert_channels(const cv::Mat& from, int channels, cv::Mat& to) {
  int stored = from.channels();
  if (stored == 1 && channels == 1) return from.copyTo(to);
  int code = stored == 1     ? (channels == 3 ? cv::COLOR_GRAY2RGB : cv::COLOR_GRAY2RGBA)
             : channels == 1 ? (stored == 3 ? cv::COLOR_BGR2GRAY : cv::COLOR_BGRA2GRAY)
             : stored == 3   ? (channels == 3 ? cv::COLOR_BGR2RGB : cv::COLOR_BGR2RGBA)
                             : (channels == 3 ? cv::COLOR_BGRA2RGB : cv::COLOR_BGRA2RGBA);
  cv::cvtColor(from, to, code);
}

Array decode_any(std::span<const std::byte> bytes, ImageFormat format, const ImageOptions& options,
                 std::string_view name) {
  const ImageSize size = image_size(bytes, name);
  check_pixel_limit(size, options.pixel_limit, name);
  if (format != ImageFormat::webp) check_expansion(size, bytes.size(), name);
  cv::Mat stored =
      format == ImageFormat::tiff ? decode_tiff(bytes, name) : decode_stored(bytes, format, name);
  if (stored.depth() == CV_16U && !options.keep_depth) drop_lower_bits(stored);
  const int channels = options.channels == 0 ? stored.channels() : options.channels;

  bool deep = stored.depth() == CV_16U;
  Array out({stored.rows, stored.cols, channels}, deep ? DType::i32 : DType::u8);
  cv::Mat target(stored.rows, stored.cols, CV_MAKETYPE(deep ? CV_32S : CV_8U, channels), out.raw());
  if (deep) {
    cv::Mat converted;
    convert_channels(stored, channels, converted);
    converted.convertTo(target, CV_32S);
  } else {
    convert_channels(stored, channels, target);
  }
  ensure(target.data == out.raw(), "decode_image: OpenCV allocated memory of its own");
  return out;
}

Array turn(const Array& image, int orientation) {
  if (orientation == 1) return image;
  const Shape& shape = image.shape();
  auto h = static_cast<int>(shape[0]), w = static_cast<int>(shape[1]);
  const int type = CV_MAKETYPE(CV_8U, static_cast<int>(shape[2]));
  const bool transposed = orientation >= 5;
  Array out({transposed ? w : h, transposed ? h : w, shape[2]}, DType::u8);
  cv::Mat from(h, w, type, const_cast<void*>(image.raw()));
  cv::Mat to(transposed ? w : h, transposed ? h : w, type, out.raw());
  transposed ? cv::transpose(from, to) : from.copyTo(to);
  constexpr int left_to_right = 1, top_to_bottom = 0, both = -1;
  if (orientation == 2 || orientation == 6) cv::flip(to, to, left_to_right);
  if (orientation == 3 || orientation == 7) cv::flip(to, to, both);
  if (orientation == 4 || orientation == 8) cv::flip(to, to, top_to_bottom);
  return out;
}

// A matrix of OpenCV's with the image's elements, blue first.
cv::Mat to_encode(const Array& image, const char* what, int most_channels) {
  const Shape& shape = image.shape();
  std::int64_t channels = shape.rank() == 3 ? shape[2] : 1;
  require(image.defined() && (shape.rank() == 2 || shape.rank() == 3)
              && (channels == 1 || channels == 3 || channels == 4) && channels <= most_channels
              && shape.elements() > 0 && std::max(shape[0], shape[1]) <= 1 << 20,
          what, ": cannot encode ", image.type());
  auto h = static_cast<int>(shape[0]), w = static_cast<int>(shape[1]);
  int depth = image.dtype() == DType::u8 ? CV_8U : CV_32S;
  cv::Mat rgb(h, w, CV_MAKETYPE(depth, static_cast<int>(channels)), const_cast<void*>(image.raw()));
  if (depth == CV_32S) {
    cv::Mat narrow;
    rgb.convertTo(narrow, CV_16U);
    rgb = narrow;
  }
  if (channels == 1) return rgb;
  cv::Mat out;
  cv::cvtColor(rgb, out, channels == 3 ? cv::COLOR_RGB2BGR : cv::COLOR_RGBA2BGRA);
  return out;
}

std::vector<std::byte> encode(const char* extension, const cv::Mat& image,
                              const std::vector<int>& parameters, const char* what) {
  std::vector<unsigned char> bytes;
  try {
    require(cv::imencode(extension, image, bytes, parameters), what, ": OpenCV cannot encode ",
            image.rows, " x ", image.cols, " pixels");
  } catch (const cv::Exception& error) {
    fail(what, ": ", error.err, " (OpenCV)");
  }
  auto out = std::as_bytes(std::span(bytes));
  return {out.begin(), out.end()};
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
  if (image.defined() && image.dtype() == DType::i32)
    for (std::int32_t value : image.span<std::int32_t>())
      require(value >= 0 && value <= 65535, "encode_png: the value ", value,
              " is not within 0 to 65535");
  return encode(".png", to_encode(image, "encode_png", 4), {}, "encode_png");
}

std::vector<std::byte> encode_jpeg(const Array& image, const EncodeJpegOptions& options) {
  require(image.dtype() == DType::u8, "encode_jpeg: expected u8, got ", image.type());
  require(options.quality >= 1 && options.quality <= 100, "encode_jpeg: quality is ",
          options.quality, ", expected 1 to 100");
  return encode(".jpg", to_encode(image, "encode_jpeg", 3),
                {cv::IMWRITE_JPEG_QUALITY, options.quality}, "encode_jpeg");
}

}  // namespace belfry::data
