#include "belfry/framework/base/protobuf_wire.h"

#include <cstring>
#include <limits>

#include "belfry/framework/base/varint.h"

namespace belfry::protobuf {

static_assert(std::endian::native == std::endian::little, "the format is little-endian");

WireReader::WireReader(std::span<const std::byte> message, const std::byte* origin, int depth)
    : rest_(message), origin_(origin), depth_(depth) {
  if (depth > max_depth) fail_here("messages nested more than ", max_depth, " deep");
}

bool WireReader::next() {
  if (unread_) skip(depth_);
  if (rest_.empty()) return false;
  read_tag();
  return true;
}

std::uint64_t WireReader::varint() {
  unread_ = false;
  Varint number = read_varint(rest_);
  if (number.bytes == 0 && rest_.size() < 10)
    fail_here("a varint is cut short after ", rest_.size(), " bytes");
  if (number.bytes == 0) fail_here("a varint has more than 64 bits");
  rest_ = rest_.subspan(number.bytes);
  return number.value;
}

std::uint32_t WireReader::fixed32() {
  std::uint32_t value = 0;
  std::memcpy(&value, next_bytes(sizeof value).data(), sizeof value);
  return value;
}

std::uint64_t WireReader::fixed64() {
  std::uint64_t value = 0;
  std::memcpy(&value, next_bytes(sizeof value).data(), sizeof value);
  return value;
}

std::span<const std::byte> WireReader::bytes() { return next_bytes(varint()); }

std::string_view WireReader::text() {
  auto value = bytes();
  return {reinterpret_cast<const char*>(value.data()), value.size()};
}

WireReader WireReader::message() { return WireReader(bytes(), origin_, depth_ + 1); }

std::span<const std::byte> WireReader::next_bytes(std::uint64_t count) {
  unread_ = false;
  if (count > rest_.size())
    fail_here("field ", field_, " has ", count, " bytes, but ", rest_.size(), " are left");
  auto taken = rest_.first(count);
  rest_ = rest_.subspan(count);
  return taken;
}

void WireReader::read_tag() {
  std::uint64_t tag = varint();
  std::uint8_t type = tag & 7;
  if (tag > std::numeric_limits<std::uint32_t>::max() || tag >> 3 == 0)
    fail_here("before it stands a field of number ", tag >> 3, ", expected 1 to 536870911");
  if (type > 5) fail_here("before it stands a field of wire type ", type, ", expected 0 to 5");
  field_ = tag >> 3;
  type_ = static_cast<WireType>(type);
  unread_ = true;
}

/// Passes over the value of the field; a group's are all fields up to its end.
void WireReader::skip(int depth) {
  switch (type_) {
    case WireType::varint:
      varint();
      break;
    case WireType::fixed64:
      next_bytes(8);
      break;
    case WireType::length_delimited:
      bytes();
      break;
    case WireType::fixed32:
      next_bytes(4);
      break;
    case WireType::end_group:
      fail_here("before it ends a group that has not begun, field ", field_);
    case WireType::start_group: {
      if (depth == max_depth) fail_here("groups nested more than ", max_depth, " deep");
      const std::uint32_t group = field_;
      for (read_tag(); type_ != WireType::end_group; read_tag()) skip(depth + 1);
      if (field_ != group)
        fail_here("before it ends group ", field_, ", expected the end of group ", group);
      unread_ = false;
    }
  }
}

void WireWriter::varint(std::uint32_t field, std::uint64_t value) {
  tag(field, WireType::varint);
  packed_varint(value);
}

void WireWriter::fixed32(std::uint32_t field, std::uint32_t value) {
  tag(field, WireType::fixed32);
  append(std::as_bytes(std::span(&value, 1)));
}

void WireWriter::fixed64(std::uint32_t field, std::uint64_t value) {
  tag(field, WireType::fixed64);
  append(std::as_bytes(std::span(&value, 1)));
}

void WireWriter::bytes(std::uint32_t field, std::span<const std::byte> value) {
  tag(field, WireType::length_delimited);
  packed_varint(value.size());
  append(value);
}

void WireWriter::text(std::uint32_t field, std::string_view value) {
  bytes(field, std::as_bytes(std::span(value)));
}

void WireWriter::packed_varint(std::uint64_t value) { append_varint(out_, value); }

void WireWriter::tag(std::uint32_t field, WireType type) {
  packed_varint(std::uint64_t{field} << 3 | static_cast<std::uint8_t>(type));
}

/// Tag and length of what stands from `begin` on.
void WireWriter::put_head_before(std::size_t begin, std::uint32_t field) {
  WireWriter head;
  head.tag(field, WireType::length_delimited);
  head.packed_varint(out_.size() - begin);
  out_.insert(out_.begin() + begin, head.out_.begin(), head.out_.end());
}

}  // namespace belfry::protobuf
