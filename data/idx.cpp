#include "belfry/data/idx.h"

#include <zlib.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <span>
#include <vector>

#include "belfry/framework/base/error.h"

namespace belfry::data {
namespace {

constexpr int max_rank = Shape::max_rank;

// zlib reads plain files through the same calls.
class Reader {
 public:
  explicit Reader(const std::string& path) : path_(path), file_(gzopen(path.c_str(), "rb")) {
    require(file_ != nullptr, path, ": cannot be opened: ", std::strerror(errno));
    gzbuffer(file_, 1 << 17);
  }
  ~Reader() { gzclose(file_); }
  Reader(const Reader&) = delete;
  Reader& operator=(const Reader&) = delete;

  std::size_t offset() const { return offset_; }

  // Up to bytes.size() bytes, fewer only at the end of the file.
  std::size_t read(std::span<std::uint8_t> bytes) {
    int got = gzread(file_, bytes.data(), static_cast<unsigned>(bytes.size()));
    int code = Z_OK;
    const char* message = gzerror(file_, &code);
    std::size_t read = got > 0 ? static_cast<std::size_t>(got) : 0;
    // Z_BUF_ERROR: gzip data that stop early. The caller knows how much was expected.
    require(got >= 0 && (code == Z_OK || code == Z_BUF_ERROR), path_, ": damaged after byte ",
            offset_ + read,
            " of the uncompressed data: ", code == Z_ERRNO ? std::strerror(errno) : message);
    offset_ += read;
    return read;
  }

  std::uint32_t read_u32(const char* what) {
    std::array<std::uint8_t, 4> b{};
    std::size_t begin = offset_;
    std::size_t got = read(b);
    require(got == b.size(), path_, ": truncated at byte ", begin + got, ", inside ", what,
            " at byte ", begin);
    return std::uint32_t{b[0]} << 24 | std::uint32_t{b[1]} << 16 | std::uint32_t{b[2]} << 8 | b[3];
  }

 private:
  std::string path_;
  gzFile file_;
  std::size_t offset_ = 0;
};

Shape read_header(Reader& file, const std::string& path) {
  std::uint32_t magic = file.read_u32("the magic number");
  require(magic >> 16 == 0, path, ": not an IDX file: the bytes at 0 and 1 are ", magic >> 24,
          " and ", magic >> 16 & 0xff, ", expected 0 and 0");
  std::uint32_t type = magic >> 8 & 0xff;
  require(type == 8, path, ": the element type at byte 2 is ", type,
          ", expected 8 (unsigned byte)");
  auto rank = static_cast<int>(magic & 0xff);
  require(rank >= 1 && rank <= max_rank, path, ": the rank at byte 3 is ", rank, ", expected 1 to ",
          max_rank);
  std::array<std::int64_t, max_rank> sizes{};
  std::int64_t elements = 1;
  for (int axis = 0; axis < rank; ++axis) {
    std::int64_t size = file.read_u32("the size of an axis");
    require(size == 0 || elements <= (std::int64_t{1} << 48) / size, path, ": the size ", size,
            " of axis ", axis, " at byte ", file.offset() - 4, " asks for more than 2^48 elements");
    elements *= std::max<std::int64_t>(size, 1);
    sizes[static_cast<std::size_t>(axis)] = size;
  }
  return Shape(std::span<const std::int64_t>(sizes.data(), static_cast<std::size_t>(rank)));
}

}  // namespace

Array read_idx(const std::string& path) {
  Reader file(path);
  Shape shape = read_header(file, path);
  std::size_t header = file.offset();
  auto wanted = static_cast<std::size_t>(shape.elements());

  constexpr std::size_t chunk = std::size_t{1} << 22;
  auto bytes = std::make_shared<std::vector<std::uint8_t>>();
  while (bytes->size() < wanted) {
    std::size_t begin = bytes->size();
    bytes->resize(std::min(wanted, begin + chunk));
    std::size_t got = file.read(std::span(*bytes).subspan(begin));
    require(begin + got == bytes->size(), path, ": truncated at byte ", header + begin + got,
            ": the header promises ", shape, ", which is ", wanted, " bytes after byte ", header);
  }
  std::uint8_t extra = 0;
  require(file.read({&extra, 1}) == 0, path, ": bytes follow after byte ", header + wanted,
          ", where ", shape, " ends");
  bytes->reserve(1);  // memory to point to, also when there are no elements
  return Array({shape, DType::u8}, bytes->data(), bytes);
}

}  // namespace belfry::data
