#include "belfry/data/formats/images/bmp.h"

#include <algorithm>
#include <array>
#include <bit>
#include <utility>
#include <vector>

#include "belfry/data/formats/binary_view.h"

namespace belfry::data {
namespace {

constexpr std::int64_t file_header = 14;  // bytes; the image's header follows, then the palette
enum Compression : std::uint32_t { none = 0, rle8 = 1, rle4 = 2, masks = 3 };

struct Header {
  std::int64_t bytes = 0;  // of the image's header
  std::int64_t bits = 0;   // of a pixel
  std::uint32_t compression = none;
  bool from_top = false;    // the rows
  std::int64_t pixels = 0;  // where they begin
};

bool is_known(std::int64_t bits, std::uint32_t compression) {
  switch (compression) {
    case none:
      return bits == 1 || bits == 4 || bits == 8 || bits == 16 || bits == 24 || bits == 32;
    case rle8:
      return bits == 8;
    case rle4:
      return bits == 4;
    default:
      return compression == masks && (bits == 16 || bits == 32);
  }
}

Header read_header(const BinaryView& file) {
  Header out{.bytes = file.u32(14), .pixels = file.u32(10)};
  const bool old = out.bytes == 12;
  require(old || out.bytes == 40 || out.bytes == 52 || out.bytes == 56 || out.bytes == 64
              || out.bytes == 108 || out.bytes == 124,
          file.name(), ": BMP data with a header of ", out.bytes,
          " bytes, expected 12, 40, 52, 56, 64, 108 or 124");
  out.bits = file.u16(old ? 24 : 28);
  if (!old) out.compression = file.u32(30);
  out.from_top = !old && file.u32(22) >> 31;  // a negative height
  require(is_known(out.bits, out.compression), file.name(), ": BMP data of ", out.bits,
          " bits a pixel with compression ", out.compression,
          ", expected 1, 4, 8, 16, 24 or 32 bits with none (0), RLE8 (1), RLE4 (2) or masks (3)");
  return out;
}

using Colour = std::array<std::uint8_t, 3>;  // red, green, blue

std::vector<Colour> read_palette(const BinaryView& file, const Header& header) {
  const bool old = header.bytes == 12;
  const std::int64_t most = std::int64_t{1} << header.bits;
  const std::int64_t used = old ? 0 : file.u32(46);
  std::vector<Colour> out(most);
  std::int64_t at = file_header + header.bytes;
  for (std::int64_t i = 0; i < (used == 0 ? most : std::min(used, most)); ++i, at += old ? 3 : 4)
    out[i] = {file.u8(at + 2), file.u8(at + 1), file.u8(at)};
  return out;
}

std::int64_t pitch_of(std::int64_t w, std::int64_t bits) { return (w * bits + 31) / 32 * 4; }

// Rows from the top.
class Rows {
 public:
  Rows(const BinaryView& file, const Header& header, const ImageSize& size)
      : pitch_(pitch_of(size.w, header.bits)),
        last_(size.h - 1),
        from_top_(header.from_top),
        bytes_(file.slice(header.pixels, pitch_ * size.h)) {}

  const std::uint8_t* operator[](std::int64_t y) const {
    return reinterpret_cast<const std::uint8_t*>(bytes_.data())
           + pitch_ * (from_top_ ? y : last_ - y);
  }

 private:
  std::int64_t pitch_, last_;
  bool from_top_;
  std::span<const std::byte> bytes_;
};

// The numbers of palette entries, [h, w].
std::vector<std::uint8_t> read_indices(const BinaryView& file, const Header& header,
                                       const ImageSize& size) {
  const Rows rows(file, header, size);
  std::vector<std::uint8_t> out;
  out.reserve(size.h * size.w);
  const int mask = (1 << header.bits) - 1;
  for (std::int64_t y = 0; y < size.h; ++y) {
    const std::uint8_t* row = rows[y];
    for (std::int64_t bit = 0; bit < size.w * header.bits; bit += header.bits)
      out.push_back(row[bit / 8] >> (8 - header.bits - bit % 8) & mask);
  }
  return out;
}

// Runs, pixels as they are, and moves over pixels that stay 0.
class RleReader {
 public:
  RleReader(const BinaryView& file, const Header& header, const ImageSize& size)
      : file_(file), header_(header), size_(size), at_(header.pixels) {}

  std::vector<std::uint8_t> read() {
    out_.assign(size_.h * size_.w, 0);
    constexpr int end_of_row = 0, end_of_image = 1, move = 2;
    while (y_ < size_.h) {
      const int count = next(), code = next();
      if (count > 0) {
        for (int i = 0; i < count; ++i) put(part(code, i));
      } else if (code == end_of_row) {
        x_ = 0;
        ++y_;
      } else if (code == end_of_image) {
        break;
      } else if (code == move) {
        x_ += next();
        y_ += next();
      } else {
        put_literally(code);
      }
    }
    return std::move(out_);
  }

 private:
  bool two_in_a_byte() const { return header_.bits == 4; }
  int next() { return file_.u8(at_++); }

  // The i-th pixel of a byte that is repeated.
  int part(int byte, int i) const {
    return !two_in_a_byte() ? byte : i % 2 == 0 ? byte >> 4 : byte & 15;
  }

  void put_literally(int count) {
    const std::int64_t begin = at_;
    for (int i = 0, byte = 0; i < count; ++i) {
      if (i % 2 == 0 || !two_in_a_byte()) byte = next();
      put(part(byte, i));
    }
    at_ += (at_ - begin) % 2;
  }

  void put(int index) {
    require(x_ < size_.w && y_ < size_.h, file_.name(),
            ": damaged BMP data: compressed pixels before byte ", at_, " leave the image of ",
            size_.h, " x ", size_.w);
    const std::int64_t row = header_.from_top ? y_ : size_.h - 1 - y_;
    out_[row * size_.w + x_++] = index;
  }

  const BinaryView& file_;
  const Header& header_;
  const ImageSize& size_;
  std::int64_t at_, x_ = 0, y_ = 0;  // y_ counts the rows as they are stored
  std::vector<std::uint8_t> out_;
};

Array decode_palette(const BinaryView& file, const Header& header, const ImageSize& size) {
  const std::vector<Colour> palette = read_palette(file, header);
  const std::vector<std::uint8_t> indices = header.compression == none
                                                ? read_indices(file, header, size)
                                                : RleReader(file, header, size).read();
  const bool grey =
      std::ranges::all_of(palette, [](const Colour& c) { return c[0] == c[1] && c[1] == c[2]; });
  Array out({size.h, size.w, grey ? 1 : 3}, DType::u8);
  std::uint8_t* to = out.span<std::uint8_t>().data();
  for (std::uint8_t index : indices) to = std::copy_n(palette[index].begin(), grey ? 1 : 3, to);
  return out;
}

// Where a colour stands in a pixel.
class Field {
 public:
  Field(std::uint32_t mask, const Header& header, const BinaryView& file)
      : shift_(std::countr_zero(mask)), largest_(mask == 0 ? 0 : mask >> shift_) {
    const bool run = (largest_ & (largest_ + 1)) == 0;
    require(mask != 0 && run && std::uint64_t{mask} >> header.bits == 0, file.name(),
            ": damaged BMP data: the mask ", mask, " is no run of bits in a pixel of ",
            header.bits);
  }

  std::uint8_t operator()(std::uint32_t pixel) const {
    const std::uint64_t value = pixel >> shift_ & largest_;
    return largest_ == 255 ? value : value * 255 / largest_;
  }

 private:
  int shift_;
  std::uint64_t largest_;
};

// Red, green, blue and perhaps alpha.
std::vector<Field> read_fields(const BinaryView& file, const Header& header) {
  std::array<std::uint32_t, 4> all{0xff0000, 0xff00, 0xff, 0};
  if (header.bits == 16) all = {0x7c00, 0x3e0, 0x1f, 0};
  if (header.compression == masks) {
    // Behind the header of 40 bytes, and in the longer ones at the same place.
    all = {file.u32(54), file.u32(58), file.u32(62), header.bytes >= 56 ? file.u32(66) : 0};
  }
  std::vector<Field> out;
  for (std::size_t i = 0; i < (all[3] ? 4u : 3u); ++i) out.emplace_back(all[i], header, file);
  return out;
}

Array decode_colours(const BinaryView& file, const Header& header, const ImageSize& size) {
  const std::vector<Field> fields = read_fields(file, header);
  const Rows rows(file, header, size);
  Array out({size.h, size.w, std::ssize(fields)}, DType::u8);
  std::uint8_t* to = out.span<std::uint8_t>().data();
  for (std::int64_t y = 0; y < size.h; ++y) {
    const std::uint8_t* from = rows[y];
    for (std::int64_t x = 0; x < size.w; ++x) {
      std::uint32_t pixel = 0;
      for (std::int64_t bit = 0; bit < header.bits; bit += 8)
        pixel |= std::uint32_t{*from++} << bit;
      for (const Field& field : fields) *to++ = field(pixel);
    }
  }
  return out;
}

}  // namespace

Array decode_bmp(std::span<const std::byte> bytes, const ImageSize& size, std::string_view name) {
  const BinaryView file(bytes, name);
  const Header header = read_header(file);
  return header.bits <= 8 ? decode_palette(file, header, size) : decode_colours(file, header, size);
}

}  // namespace belfry::data
