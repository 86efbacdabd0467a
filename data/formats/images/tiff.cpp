#include "belfry/data/formats/images/tiff.h"

#include <tiffio.h>
#include <zlib.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <limits>
#include <string>
#include <vector>

#include "belfry/framework/base/error.h"
#include "belfry/framework/base/out_of_memory.h"

namespace belfry::data {
namespace {

using Message = std::array<char, 256>;

// The bytes that libtiff reads, and the error that it reported.
struct Client {
  explicit Client(std::span<const std::byte> b) : bytes(b) { message.reserve(Message().size()); }

  std::span<const std::byte> bytes;
  std::uint64_t offset = 0;
  bool warnings_count = false;  // as errors
  std::string message;          // the first error since begin()

  // In front of calls of libtiff.
  void begin() {
    message.clear();
    errno = 0;
  }
};

// Error unless the calls since begin() have gone well. libtiff goes on without some of what it
// finds no memory for; malloc() sets errno then.
template <class... Why>
void check_calls(bool good, std::string_view where, const Why&... why) {
  if (errno == ENOMEM) throw OutOfMemory(concat(where, ": out of host memory (libtiff)"));
  require(good, where, ": damaged TIFF data: ", why..., " (libtiff)");
}

// Allocates nothing: what is thrown must not pass through libtiff.
void note(Client& client, const char* format, va_list arguments) noexcept {
  if (!client.message.empty()) return;
  Message text{};
  std::vsnprintf(text.data(), text.size(), format, arguments);
  client.message = text.data();
}

// Both return 1: libtiff is to tell nobody else.
int on_error(TIFF*, void* client, const char*, const char* format, va_list arguments) {
  note(*static_cast<Client*>(client), format, arguments);
  return 1;
}

int on_warning(TIFF*, void* client, const char*, const char* format, va_list arguments) {
  if (static_cast<Client*>(client)->warnings_count)
    note(*static_cast<Client*>(client), format, arguments);
  return 1;
}

tmsize_t read_bytes(thandle_t handle, void* into, tmsize_t count) {
  auto& client = *static_cast<Client*>(handle);
  std::uint64_t left = client.bytes.size() - std::min(client.offset, client.bytes.size());
  std::size_t taken = std::min(left, static_cast<std::uint64_t>(count));
  if (taken > 0) std::memcpy(into, client.bytes.data() + client.offset, taken);
  client.offset += taken;
  return taken;
}

tmsize_t write_bytes(thandle_t, void*, tmsize_t) { return 0; }

toff_t seek_to(thandle_t handle, toff_t offset, int whence) {
  auto& client = *static_cast<Client*>(handle);
  if (whence == SEEK_CUR) offset += client.offset;
  if (whence == SEEK_END) offset += client.bytes.size();
  return client.offset = offset;
}

int close_nothing(thandle_t) { return 0; }

toff_t size_of_file(thandle_t handle) { return static_cast<Client*>(handle)->bytes.size(); }

// libtiff reads strips from where they are. It never writes to a file that it opened for reading.
int map_file(thandle_t handle, void** base, toff_t* size) {
  auto bytes = static_cast<Client*>(handle)->bytes;
  *base = const_cast<std::byte*>(bytes.data());
  *size = bytes.size();
  return 1;
}

void unmap_file(thandle_t, void*, toff_t) {}

TIFF* open(Client& client, const std::string& name) {
  TIFFOpenOptions* options = TIFFOpenOptionsAlloc();
  if (!options) throw OutOfMemory("out of host memory (libtiff)");
  // Lists of strips take eight bytes for what may be one in the file.
  constexpr std::size_t codecs = std::size_t{1} << 24;
  TIFFOpenOptionsSetMaxSingleMemAlloc(options, 8 * client.bytes.size() + codecs);
  TIFFOpenOptionsSetErrorHandlerExtR(options, on_error, &client);
  TIFFOpenOptionsSetWarningHandlerExtR(options, on_warning, &client);
  const char* read_and_chop_no_strips = "rc";
  TIFF* out =
      TIFFClientOpenExt(name.c_str(), read_and_chop_no_strips, &client, read_bytes, write_bytes,
                        seek_to, close_nothing, size_of_file, map_file, unmap_file, options);
  TIFFOpenOptionsFree(options);
  return out;
}

// How the pixels of a page are stored.
struct Layout {
  std::uint32_t h = 0, w = 0;
  std::uint16_t samples = 1, bits = 1, format = 0, photometric = 0, planar = 0, compression = 0;
  bool tiled = false;
  std::uint32_t block_h = 0, block_w = 0;  // of a strip or tile

  bool palette() const { return photometric == PHOTOMETRIC_PALETTE; }
  bool white_is_zero() const { return photometric == PHOTOMETRIC_MINISWHITE; }
  bool separate() const { return planar == PLANARCONFIG_SEPARATE; }
  bool floating() const { return format == SAMPLEFORMAT_IEEEFP; }
  // In one block.
  std::uint32_t planes() const { return separate() ? samples : 1; }
  std::uint32_t samples_together() const { return separate() ? 1 : samples; }
};

template <class T>
T field(TIFF* file, std::uint32_t tag, T missing) {
  T value{};
  return TIFFGetFieldDefaulted(file, tag, &value) ? value : missing;
}

Layout layout_of(TIFF* file) {
  constexpr std::uint16_t none = 0xffff;
  Layout out{.h = field<std::uint32_t>(file, TIFFTAG_IMAGELENGTH, 0),
             .w = field<std::uint32_t>(file, TIFFTAG_IMAGEWIDTH, 0),
             .samples = field<std::uint16_t>(file, TIFFTAG_SAMPLESPERPIXEL, 1),
             .bits = field<std::uint16_t>(file, TIFFTAG_BITSPERSAMPLE, 1),
             .format = field<std::uint16_t>(file, TIFFTAG_SAMPLEFORMAT, SAMPLEFORMAT_UINT),
             .photometric = field(file, TIFFTAG_PHOTOMETRIC, none),
             .planar = field<std::uint16_t>(file, TIFFTAG_PLANARCONFIG, PLANARCONFIG_CONTIG),
             .compression = field<std::uint16_t>(file, TIFFTAG_COMPRESSION, COMPRESSION_NONE),
             .tiled = TIFFIsTiled(file) != 0};
  out.block_h = out.tiled ? field<std::uint32_t>(file, TIFFTAG_TILELENGTH, 0)
                          : std::min(field(file, TIFFTAG_ROWSPERSTRIP, out.h), out.h);
  out.block_w = out.tiled ? field<std::uint32_t>(file, TIFFTAG_TILEWIDTH, 0) : out.w;
  return out;
}

bool is_deflate(const Layout& l) {
  return l.compression == COMPRESSION_DEFLATE || l.compression == COMPRESSION_ADOBE_DEFLATE;
}

// Colours come first in a pixel; 0: a kind that is not read.
int colours_of(const Layout& l) {
  bool grey = l.photometric == PHOTOMETRIC_MINISBLACK || (l.white_is_zero() && !l.floating());
  bool from_jpeg = l.photometric == PHOTOMETRIC_YCBCR && l.compression == COMPRESSION_JPEG
                   && l.bits == 8 && !l.separate();
  return grey || (l.palette() && l.bits == 8)            ? 1
         : l.photometric == PHOTOMETRIC_RGB || from_jpeg ? 3
                                                         : 0;
}

void check(const Layout& l, const TiffPage& page, std::string_view where) {
  require(l.h == page.h && l.w == page.w && l.samples == page.channels && l.bits == page.bits
              && l.block_h > 0 && l.block_w > 0,
          where, ": damaged TIFF data: libtiff reads ", l.h, " x ", l.w, " pixels of ", l.samples,
          " samples of ", l.bits, " bits, expected ", describe(page));
  require(l.compression == COMPRESSION_NONE || l.compression == COMPRESSION_LZW
              || l.compression == COMPRESSION_PACKBITS || l.compression == COMPRESSION_JPEG
              || is_deflate(l),
          where, ": TIFF data of compression ", l.compression,
          ", expected none (1), LZW (5), JPEG (7), deflate (8, 32946) or PackBits (32773)");
  const int colours = colours_of(l);
  const bool whole = l.format == SAMPLEFORMAT_UINT && (l.bits == 8 || l.bits == 16 || l.bits == 32);
  const bool planes = !l.separate() && l.planar != PLANARCONFIG_CONTIG;
  require(colours > 0 && !planes && (whole || (l.floating() && l.bits == 32))
              && (l.samples == colours || (l.samples == colours + 1 && !l.palette())),
          where, ": TIFF data of ", describe(page),
          "; expected grey (0, 1) or RGB (2), also with alpha, of 8, 16 or 32 bits unsigned or "
          "32 bits float, or a palette (3) of 8 bits");
}

// Whether they inflate to at most `most` bytes that agree with their checksum. libtiff stops when
// it has the pixels that it wants, and so need not see the checksum, which comes last.
bool inflates(std::span<const std::byte> bytes, std::size_t most) {
  z_stream stream{};
  std::array<Bytef, 1 << 15> out;
  int code = inflateInit(&stream);
  while (code == Z_OK && stream.total_out <= most) {
    stream.next_in = reinterpret_cast<Bytef*>(const_cast<std::byte*>(bytes.data()));
    stream.avail_in = std::min<std::size_t>(bytes.size(), std::numeric_limits<uInt>::max());
    const uInt before = stream.avail_in;
    stream.next_out = out.data();
    stream.avail_out = out.size();
    code = inflate(&stream, Z_NO_FLUSH);
    bytes = bytes.subspan(before - stream.avail_in);
  }
  inflateEnd(&stream);
  if (code == Z_MEM_ERROR) throw OutOfMemory("out of host memory (zlib)");
  return code == Z_STREAM_END;
}

// A strip or tile, and where it lies on the page.
struct Block {
  std::uint32_t number = 0, plane = 0, top = 0, left = 0;
};

class PageReader {
 public:
  PageReader(TIFF* file, Client& client, const Layout& layout, std::string_view where)
      : file_(file), client_(client), layout_(layout), where_(where) {}

  // Stored is the type of a sample, T that of the result.
  template <class Stored, class T>
  Array read() {
    const Layout& l = layout_;
    Array out({l.h, l.w, l.samples}, dtype_of<T>);
    const std::size_t row = std::size_t{l.block_w} * l.samples_together();
    std::vector<Stored> samples(l.block_h * row);
    Block block;
    for (; block.plane < l.planes(); ++block.plane)
      for (block.top = 0; block.top < l.h; block.top += rows_of(block))
        for (block.left = 0; block.left < l.w; block.left += columns_of(block)) {
          const std::size_t rows = l.tiled ? l.block_h : rows_of(block);
          read_block(block.number++, std::span(samples).first(rows * row));
          store(block, samples.data(), out.span<T>().data());
        }
    return out;
  }

 private:
  // Rows and columns of a block within the page, which need not be a multiple of its blocks.
  std::uint32_t rows_of(const Block& b) const {
    return std::min(layout_.block_h, layout_.h - b.top);
  }
  std::uint32_t columns_of(const Block& b) const {
    return std::min(layout_.block_w, layout_.w - b.left);
  }

  template <class Stored>
  void read_block(std::uint32_t number, std::span<Stored> samples) {
    auto into = std::as_writable_bytes(samples);
    if (is_deflate(layout_)) {
      std::uint64_t begin = TIFFGetStrileOffset(file_, number);
      std::uint64_t bytes = TIFFGetStrileByteCount(file_, number);
      bool inside = begin <= client_.bytes.size() && bytes <= client_.bytes.size() - begin;
      // The last strip may hold rows beyond the end of the page.
      const std::size_t most = std::size_t{layout_.block_h} * layout_.block_w
                               * layout_.samples_together() * sizeof(Stored);
      require(inside && inflates(client_.bytes.subspan(begin, bytes), most), where_,
              ": damaged TIFF data: the deflated pixels at byte ", begin,
              " do not agree with their checksum");
    }
    const auto wanted = static_cast<tmsize_t>(into.size());
    client_.begin();
    tmsize_t got = layout_.tiled ? TIFFReadEncodedTile(file_, number, into.data(), wanted)
                                 : TIFFReadEncodedStrip(file_, number, into.data(), wanted);
    check_calls(
        got == wanted && client_.message.empty(), where_, layout_.tiled ? "tile " : "strip ",
        number, ": ",
        client_.message.empty() ? concat(got, " bytes, expected ", wanted) : client_.message);
  }

  template <class Stored, class T>
  void store(const Block& block, const Stored* from, T* out) const {
    const Layout& l = layout_;
    const std::size_t together = l.samples_together();
    const std::size_t columns = columns_of(block);
    for (std::size_t y = 0; y < rows_of(block); ++y) {
      const Stored* in = from + y * l.block_w * together;
      T* to = out + ((block.top + y) * l.w + block.left) * l.samples + block.plane;
      for (std::size_t x = 0; x < columns; ++x, to += l.samples)
        for (std::size_t i = 0; i < together; ++i) to[i] = *in++;
    }
  }

  TIFF* file_;
  Client& client_;
  const Layout& layout_;
  std::string_view where_;
};

template <class T>
void invert_grey(Array& image, T white) {
  const std::int64_t samples = image.shape()[2];
  auto values = image.span<T>();
  for (std::size_t i = 0; i < values.size(); i += samples)
    values[i] = static_cast<T>(white - values[i]);
}

Array look_up(const Array& indices, TIFF* file, std::string_view where) {
  std::array<std::uint16_t*, 3> colours{};
  require(TIFFGetField(file, TIFFTAG_COLORMAP, &colours[0], &colours[1], &colours[2]) == 1, where,
          ": damaged TIFF data: a palette without colours");
  // Some writers took 255 for the brightest, where the format has 65535.
  bool narrow = std::all_of(colours.begin(), colours.end(), [](const std::uint16_t* list) {
    return std::all_of(list, list + 256, [](std::uint16_t x) { return x < 256; });
  });
  const Shape& shape = indices.shape();
  Array out({shape[0], shape[1], 3}, DType::u8);
  std::uint8_t* to = out.span<std::uint8_t>().data();
  for (std::uint8_t index : indices.span<std::uint8_t>())
    for (const std::uint16_t* list : colours) *to++ = narrow ? list[index] : list[index] >> 8;
  return out;
}

}  // namespace

struct TiffReader::File {
  explicit File(std::span<const std::byte> bytes) : client(bytes) {}
  ~File() {
    if (tiff) TIFFClose(tiff);
  }

  Client client;
  TIFF* tiff = nullptr;
  bool begun = false;
};

TiffReader::TiffReader(std::span<const std::byte> bytes, std::string_view name)
    : file_(std::make_unique<File>(bytes)) {
  const std::string path(name);
  file_->client.begin();
  file_->tiff = open(file_->client, path);
  check_calls(file_->tiff != nullptr, name, file_->client.message);
}

TiffReader::~TiffReader() = default;

Array TiffReader::next_page(const TiffPage& page, std::string_view where) {
  TIFF* tiff = file_->tiff;
  Client& client = file_->client;
  client.begin();
  client.warnings_count = false;  // about directories they mostly tell of unknown tags
  check_calls(!file_->begun || TIFFReadDirectory(tiff), where, client.message);
  file_->begun = true;

  const Layout layout = layout_of(tiff);
  check(layout, page, where);
  // A warning of libtiff about pixels means damage, except with an old variant of LZW.
  client.warnings_count = layout.compression != COMPRESSION_LZW;
  if (layout.photometric == PHOTOMETRIC_YCBCR)
    TIFFSetField(tiff, TIFFTAG_JPEGCOLORMODE, JPEGCOLORMODE_RGB);
  PageReader pixels(tiff, client, layout, where);
  Array out = layout.floating()   ? pixels.read<float, float>()
              : layout.bits == 8  ? pixels.read<std::uint8_t, std::uint8_t>()
              : layout.bits == 16 ? pixels.read<std::uint16_t, std::int32_t>()
                                  : pixels.read<std::uint32_t, std::int64_t>();
  if (layout.palette()) return look_up(out, tiff, where);
  if (!layout.white_is_zero()) return out;
  if (layout.bits == 8) invert_grey<std::uint8_t>(out, 0xff);
  if (layout.bits == 16) invert_grey<std::int32_t>(out, 0xffff);
  if (layout.bits == 32) invert_grey<std::int64_t>(out, 0xffffffff);
  return out;
}

}  // namespace belfry::data
