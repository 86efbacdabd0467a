#include "belfry/framework/tensor/tensor_bundle_entry.h"

#include <algorithm>
#include <array>
#include <bit>
#include <limits>

#include "belfry/framework/base/error.h"
#include "belfry/framework/base/protobuf_wire.h"

namespace belfry::tensor_bundle {
namespace {

using protobuf::WireReader;
using protobuf::WireType;
using protobuf::WireWriter;

// tensorflow/core/framework/types.proto
struct TypeNumber {
  std::int64_t number;
  const char* name;
  std::optional<DType> dtype;
};
constexpr std::array<TypeNumber, 20> types{{{1, "float", DType::f32}, {2, "double", DType::f64},
                                            {3, "int32", DType::i32}, {4, "uint8", DType::u8},
                                            {5, "int16", {}},         {6, "int8", {}},
                                            {7, "string", {}},        {8, "complex64", {}},
                                            {9, "int64", DType::i64}, {10, "bool", DType::boolean},
                                            {11, "qint8", {}},        {12, "quint8", {}},
                                            {13, "qint32", {}},       {14, "bfloat16", DType::bf16},
                                            {17, "uint16", {}},       {18, "complex128", {}},
                                            {19, "half", DType::f16}, {21, "variant", {}},
                                            {22, "uint32", {}},       {23, "uint64", {}}}};

const TypeNumber* find_type(std::int64_t number) {
  auto found = std::find_if(types.begin(), types.end(),
                            [&](const TypeNumber& t) { return t.number == number; });
  return found == types.end() ? nullptr : &*found;
}

WireReader reader_of(std::string_view message) {
  return WireReader(std::as_bytes(std::span(message)));
}

std::int64_t take_int(WireReader& reader) {
  std::uint64_t value = reader.varint();
  if (value > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max()))
    reader.fail_here("before it field ", reader.field(), " is negative");
  return value;
}

// TensorShapeProto{dim = 2 {size = 1}}
std::vector<std::int64_t> parse_shape(WireReader shape) {
  std::vector<std::int64_t> out;
  while (shape.next()) {
    if (!shape.is(2, WireType::length_delimited)) continue;
    WireReader dim = shape.message();
    out.push_back(0);
    while (dim.next())
      if (dim.is(1, WireType::varint)) out.back() = take_int(dim);
  }
  return out;
}

// TensorSliceProto{extent = 1 {start = 1, length = 2}}; one without a length is the whole axis.
Slice parse_slice(WireReader slice) {
  Slice out;
  while (slice.next()) {
    if (!slice.is(1, WireType::length_delimited)) continue;
    WireReader extent = slice.message();
    out.start.push_back(0);
    out.length.push_back(-1);
    while (extent.next()) {
      if (extent.is(1, WireType::varint)) out.start.back() = take_int(extent);
      if (extent.is(2, WireType::varint)) out.length.back() = take_int(extent);
    }
  }
  return out;
}

// Its bytes from the highest on, without leading zeros, after their number.
void append_number(std::string& out, std::uint64_t value) {
  int bytes = (std::bit_width(value) + 7) / 8;
  out += bytes;
  for (int i = bytes - 1; i >= 0; --i) out += value >> (8 * i) & 0xff;
}

// As many one bits in front as there are bytes, a zero, and the value from its highest bit on, of
// which the top one is the sign; all bits of a negative one inverted in front.
void append_signed(std::string& out, std::int64_t value) {
  std::uint64_t magnitude = value < 0 ? ~value : value;
  int bytes = std::bit_width(magnitude) / 7 + 1;
  std::array<unsigned char, 10> text;
  for (int i = 0; i < 10; ++i)
    text[9 - i] =
        i < 8 ? static_cast<unsigned char>(value >> (8 * i) & 0xff) : (value < 0 ? 0xff : 0);
  std::size_t begin = 10 - bytes;
  for (int bit = 0; bit < bytes; ++bit)
    text[begin + (bit / 8)] ^= static_cast<unsigned char>(0x80 >> bit % 8);
  for (std::size_t i = begin; i < 10; ++i) out += text[i];
}

}  // namespace

Entry parse_entry(std::string_view message) {
  Entry out;
  for (WireReader entry = reader_of(message); entry.next();) {
    if (entry.is(1, WireType::varint)) out.type = take_int(entry);
    if (entry.is(2, WireType::length_delimited)) out.shape = parse_shape(entry.message());
    if (entry.is(3, WireType::varint)) out.shard = take_int(entry);
    if (entry.is(4, WireType::varint)) out.offset = take_int(entry);
    if (entry.is(5, WireType::varint)) out.bytes = take_int(entry);
    if (entry.is(6, WireType::fixed32)) out.checksum = entry.fixed32();
    if (entry.is(7, WireType::length_delimited)) out.slices.push_back(parse_slice(entry.message()));
  }
  return out;
}

std::string to_message(const Entry& entry) {
  WireWriter out;
  auto unless_zero = [&](std::uint32_t field, std::int64_t value) {
    if (value != 0) out.varint(field, value);
  };
  unless_zero(1, entry.type);
  out.message(2, [&] {
    for (std::int64_t size : entry.shape) out.message(2, [&] { unless_zero(1, size); });
  });
  unless_zero(3, entry.shard);
  unless_zero(4, entry.offset);
  unless_zero(5, entry.bytes);
  if (entry.checksum != 0) out.fixed32(6, entry.checksum);
  for (const Slice& slice : entry.slices)
    out.message(7, [&] {
      for (std::size_t i = 0; i < slice.start.size(); ++i)
        out.message(1, [&] {
          unless_zero(1, slice.start[i]);
          if (slice.length[i] >= 0) out.varint(2, slice.length[i]);
        });
    });
  std::vector<std::byte> bytes = out.release();
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

std::int64_t parse_shard_count(std::string_view message) {
  std::int64_t shards = 0;
  for (WireReader header = reader_of(message); header.next();) {
    if (header.is(1, WireType::varint)) shards = take_int(header);
    if (header.is(2, WireType::varint))
      require(header.varint() == 0,
              "the tensors are big-endian; write them anew on another machine");
  }
  require(shards > 0 && shards < 100000, "the header announces ", shards, " data files");
  return shards;
}

// num_shards = 1, version = 3 {producer = 1}
std::string header_message() { return {"\x08\x01\x1a\x02\x08\x01", 6}; }

std::string slice_key(std::string_view name, const Slice& slice) {
  std::string out;
  append_number(out, 0);
  for (char c : name) {
    out += c;
    if (c == '\0') out += '\xff';
    if (c == '\xff') out += '\0';
  }
  out += std::string("\0\1", 2);
  append_number(out, slice.start.size());
  for (std::size_t i = 0; i < slice.start.size(); ++i) {
    append_signed(out, slice.start[i]);
    append_signed(out, slice.length[i]);
  }
  return out;
}

std::optional<DType> dtype_of_number(std::int64_t type) {
  const TypeNumber* found = find_type(type);
  return found ? found->dtype : std::nullopt;
}

std::int64_t number_of(DType dtype) {
  auto found = std::find_if(types.begin(), types.end(),
                            [&](const TypeNumber& t) { return t.dtype == dtype; });
  ensure(found != types.end(), "no number of ", dtype);
  return found->number;
}

std::string type_name(std::int64_t type) {
  const TypeNumber* found = find_type(type);
  return found ? found->name : concat("type ", type);
}

}  // namespace belfry::tensor_bundle
