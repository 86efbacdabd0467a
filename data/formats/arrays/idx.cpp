#include "belfry/data/formats/arrays/idx.h"

#include <algorithm>
#include <array>
#include <vector>

#include "belfry/data/formats/arrays/stored_type.h"
#include "belfry/data/formats/byte_reader.h"
#include "belfry/framework/base/error.h"

namespace belfry::data {
namespace {

constexpr int max_rank = Shape::max_rank;

struct Header {
  StoredType type;
  Shape shape;
};

std::uint32_t read_u32(ByteReader& file, const char* what) {
  std::array<std::uint8_t, 4> b{};
  const std::int64_t begin = file.offset();
  std::size_t got = file.read(std::as_writable_bytes(std::span(b)));
  require(got == b.size(), file.path(), ": truncated at byte ", file.offset(), ", inside ", what,
          " at byte ", begin);
  return std::uint32_t{b[0]} << 24 | std::uint32_t{b[1]} << 16 | std::uint32_t{b[2]} << 8 | b[3];
}

StoredType type_of(std::uint32_t code, const std::string& path) {
  switch (code) {
    case 0x08:
      return {'u', 1, DType::u8};
    case 0x09:
      return {'i', 1, DType::i32};
    case 0x0b:
      return {'i', 2, DType::i32};
    case 0x0c:
      return {'i', 4, DType::i32};
    case 0x0d:
      return {'f', 4, DType::f32};
    case 0x0e:
      return {'f', 8, DType::f64};
  }
  fail(path, ": the element type at byte 2 is ", code,
       ", expected 8 (u8), 9 (i8), 11 (i16), 12 (i32), 13 (f32) or 14 (f64)");
}

Header read_header(ByteReader& file) {
  const std::string& path = file.path();
  std::uint32_t magic = read_u32(file, "the magic number");
  require(magic >> 16 == 0, path, ": not an IDX file: the bytes at 0 and 1 are ", magic >> 24,
          " and ", magic >> 16 & 0xff, ", expected 0 and 0");
  const StoredType type = type_of(magic >> 8 & 0xff, path);
  int rank = magic & 0xff;
  require(rank >= 1 && rank <= max_rank, path, ": the rank at byte 3 is ", rank, ", expected 1 to ",
          max_rank);
  std::array<std::int64_t, max_rank> sizes{};
  std::int64_t elements = 1;
  for (int axis = 0; axis < rank; ++axis) {
    std::int64_t size = read_u32(file, "the size of an axis");
    require(size == 0 || elements <= (std::int64_t{1} << 48) / size, path, ": the size ", size,
            " of axis ", axis, " at byte ", file.offset() - 4, " asks for more than 2^48 elements");
    elements *= std::max<std::int64_t>(size, 1);
    sizes[axis] = size;
  }
  return {type, Shape(std::span<const std::int64_t>(sizes.data(), static_cast<std::size_t>(rank)))};
}

// As `bytes` are held by the array itself where they are as wide as its elements.
Array to_array(const Header& header, const std::shared_ptr<std::vector<std::byte>>& bytes) {
  const StoredType& type = header.type;
  reverse_each(*bytes, type.bytes);
  if (!type.narrow()) return Array({header.shape, type.dtype}, bytes->data(), bytes);
  Array out(header.shape, type.dtype);
  widen(type, *bytes, out);
  return out;
}

Array read(ByteReader& file) {
  const Header header = read_header(file);
  const std::int64_t begin_of_elements = file.offset();
  auto wanted = header.shape.elements() * header.type.bytes;

  constexpr std::size_t chunk = std::size_t{1} << 22;
  auto bytes = std::make_shared<std::vector<std::byte>>();
  while (bytes->size() < wanted) {
    std::size_t begin = bytes->size();
    bytes->resize(std::min(wanted, begin + chunk));
    std::size_t got = file.read(std::span(*bytes).subspan(begin));
    require(begin + got == bytes->size(), file.path(), ": truncated at byte ", file.offset(),
            ": the header promises ", header.shape, ", which is ", wanted, " bytes after byte ",
            begin_of_elements);
  }
  require(file.skip(1) == 0, file.path(), ": bytes follow after byte ",
          begin_of_elements + static_cast<std::int64_t>(wanted), ", where ", header.shape, " ends");
  bytes->reserve(1);  // memory to point to, also when there are no elements
  return to_array(header, bytes);
}

}  // namespace

Array read_idx(const std::string& path) {
  ByteReader file(path);
  return read(file);
}

Array parse_idx(std::span<const std::byte> bytes, const std::string& name) {
  ByteReader file(bytes, name);
  return read(file);
}

}  // namespace belfry::data
