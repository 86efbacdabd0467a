#include "belfry/data/formats/images/png.h"

#include <png.h>
#include <zlib.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <string>

#include "belfry/data/formats/images/library_call.h"

namespace belfry::data {
namespace {

[[noreturn]] void on_error(png_structp png, png_const_charp message) {
  static_cast<LibraryCall*>(png_get_error_ptr(png))->leave(message);
}

// libpng would print it. What it only warns about does not concern the pixels.
void on_warning(png_structp, png_const_charp) {}

void read_bytes(png_structp png, png_bytep into, std::size_t count) {
  auto* left = static_cast<std::span<const std::byte>*>(png_get_io_ptr(png));
  if (count > left->size()) png_error(png, "the data end too early");
  std::memcpy(into, left->data(), count);
  *left = left->subspan(count);
}

void write_bytes(png_structp png, png_bytep from, std::size_t count) {
  auto* file = static_cast<std::vector<std::byte>*>(png_get_io_ptr(png));
  if (!append_bytes(*file, from, count)) png_error(png, "out of host memory");
}

void flush_nothing(png_structp) {}

// The pixel limit is ours.
void allow_any_size(png_structp png) { png_set_user_limits(png, PNG_UINT_31_MAX, PNG_UINT_31_MAX); }

void choose_output(png_structp png, png_infop info) {
  const int colour = png_get_color_type(png, info), bits = png_get_bit_depth(png, info);
  if (colour == PNG_COLOR_TYPE_PALETTE) png_set_palette_to_rgb(png);
  if (colour == PNG_COLOR_TYPE_RGB) png_set_tRNS_to_alpha(png);
  if (colour == PNG_COLOR_TYPE_GRAY && bits < 8) png_set_expand_gray_1_2_4_to_8(png);
  if (bits == 16 && std::endian::native == std::endian::little) png_set_swap(png);
}

class Reader {
 public:
  Reader(std::span<const std::byte> bytes, std::string_view name)
      : left_(bytes), what_(concat(name, ": damaged PNG data")) {}
  ~Reader() { png_destroy_read_struct(&png_, &info_, nullptr); }
  Reader(const Reader&) = delete;

  Array read(const ImageSize& size) {
    call([this] { create(); });
    call([this] { read_header(); });
    ensure(
        png_get_image_height(png_, info_) == size.h && png_get_image_width(png_, info_) == size.w,
        "decode_png: libpng sees another size than ", size.h, " x ", size.w);
    const Shape shape{size.h, size.w, png_get_channels(png_, info_)};
    if (png_get_bit_depth(png_, info_) == 8) {
      Array out(shape, DType::u8);
      read_rows(out.span<std::uint8_t>());
      return out;
    }
    std::vector<std::uint16_t> narrow(shape.elements());
    read_rows(std::span(narrow));
    Array out(shape, DType::i32);
    std::ranges::copy(narrow, out.span<std::int32_t>().begin());
    return out;
  }

 private:
  template <class Body>
  void call(Body body) {
    errors_.run(body, what_, "libpng");
  }

  void create() {
    png_ = png_create_read_struct(PNG_LIBPNG_VER_STRING, &errors_, on_error, on_warning);
    if (png_) info_ = png_create_info_struct(png_);
    if (!info_) errors_.leave("it cannot begin");
  }

  void read_header() {
    png_set_read_fn(png_, &left_, read_bytes);
    allow_any_size(png_);
    // Skips all chunks but those that pixels need, so that none takes memory.
    constexpr int and_those_that_libpng_knows = -1;
    png_set_keep_unknown_chunks(png_, PNG_HANDLE_CHUNK_NEVER, nullptr, and_those_that_libpng_knows);
    png_read_info(png_, info_);
    choose_output(png_, info_);
    passes_ = png_set_interlace_handling(png_);
    png_read_update_info(png_, info_);
  }

  template <class T>
  void read_rows(std::span<T> pixels) {
    const std::size_t pitch = png_get_rowbytes(png_, info_), h = png_get_image_height(png_, info_);
    ensure(pitch * h == pixels.size_bytes(), "decode_png: libpng's rows have ", pitch, " bytes");
    auto* first = reinterpret_cast<png_bytep>(pixels.data());
    call([this, first, pitch, h] {
      for (int pass = 0; pass < passes_; ++pass)
        for (std::size_t y = 0; y < h; ++y) png_read_row(png_, first + y * pitch, nullptr);
      png_read_end(png_, nullptr);
    });
  }

  LibraryCall errors_;
  png_structp png_ = nullptr;
  png_infop info_ = nullptr;
  int passes_ = 1;
  std::span<const std::byte> left_;
  std::string what_;
};

class Writer {
 public:
  Writer() = default;
  ~Writer() { png_destroy_write_struct(&png_, &info_); }
  Writer(const Writer&) = delete;

  std::vector<std::byte> write(const Array& image) {
    call([this] { create(); });
    const Shape& shape = image.shape();
    const std::size_t h = shape[0], w = shape[1];
    const std::size_t channels = shape.rank() == 3 ? static_cast<std::size_t>(shape[2]) : 1;
    const bool deep = image.dtype() == DType::i32;
    call([=, this] { write_header(h, w, channels, deep ? 16 : 8); });
    if (deep) {
      std::vector<std::uint16_t> row(w * channels);
      const std::int32_t* pixels = image.span<std::int32_t>().data();
      call([this, h, pixels, row = std::span(row)] {
        for (std::size_t y = 0; y < h; ++y) {
          std::copy_n(pixels + y * row.size(), row.size(), row.data());
          png_write_row(png_, reinterpret_cast<png_const_bytep>(row.data()));
        }
      });
    } else {
      const std::uint8_t* pixels = image.span<std::uint8_t>().data();
      call([=, this] {
        for (std::size_t y = 0; y < h; ++y) png_write_row(png_, pixels + y * w * channels);
      });
    }
    call([this] { png_write_end(png_, info_); });
    return std::move(file_);
  }

 private:
  template <class Body>
  void call(Body body) {
    errors_.run(body, "encode_png", "libpng");
  }

  void create() {
    png_ = png_create_write_struct(PNG_LIBPNG_VER_STRING, &errors_, on_error, on_warning);
    if (png_) info_ = png_create_info_struct(png_);
    if (!info_) errors_.leave("it cannot begin");
  }

  void write_header(std::size_t h, std::size_t w, std::size_t channels, int bits) {
    png_set_write_fn(png_, &file_, write_bytes, flush_nothing);
    allow_any_size(png_);
    // Several times as fast as libpng's own choices, for files that are little larger.
    png_set_filter(png_, PNG_FILTER_TYPE_BASE, PNG_FILTER_SUB);
    png_set_compression_level(png_, Z_BEST_SPEED);
    png_set_compression_strategy(png_, Z_RLE);
    const int colour = channels == 1   ? PNG_COLOR_TYPE_GRAY
                       : channels == 3 ? PNG_COLOR_TYPE_RGB
                                       : PNG_COLOR_TYPE_RGB_ALPHA;
    png_set_IHDR(png_, info_, w, h, bits, colour, PNG_INTERLACE_NONE, PNG_COMPRESSION_TYPE_DEFAULT,
                 PNG_FILTER_TYPE_DEFAULT);
    png_write_info(png_, info_);
    if (bits == 16 && std::endian::native == std::endian::little) png_set_swap(png_);
  }

  LibraryCall errors_;
  png_structp png_ = nullptr;
  png_infop info_ = nullptr;
  std::vector<std::byte> file_;
};

}  // namespace

Array decode_png(std::span<const std::byte> bytes, const ImageSize& size, std::string_view name) {
  return Reader(bytes, name).read(size);
}

std::vector<std::byte> write_png(const Array& image) { return Writer().write(image); }

}  // namespace belfry::data
