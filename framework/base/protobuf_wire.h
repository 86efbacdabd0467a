#pragma once
// The wire format of Protocol Buffers, as far as messages without a compiled schema need it:
// https://protobuf.dev/programming-guides/encoding. A message is a sequence of fields; a field is a
// tag, field number << 3 | wire type, and a value.

#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "belfry/framework/base/error.h"

namespace belfry::protobuf {

/// The form of a value: the lowest three bits of its tag.
enum class WireType : std::uint8_t {
  varint = 0,            ///< 7 bits a byte, the lowest first
  fixed64 = 1,           ///< 8 bytes, the lowest first
  length_delimited = 2,  ///< a varint, then as many bytes
  start_group = 3,       ///< fields up to the end_group of the same number follow
  end_group = 4,         ///< no value
  fixed32 = 5            ///< 4 bytes, the lowest first
};

/// Reads the fields of one message in their order; those that the caller leaves alone are skipped:
///
///   while (message.next()) {
///     if (message.is(1, WireType::varint)) count = message.varint();
///     if (message.is(2, WireType::length_delimited)) name = message.text();
///   }
///
/// A field with an unexpected wire type is thus skipped as an unknown one, as protobuf's own
/// readers do. The bytes must outlive the reader; nothing is copied. Thread rules: used by one
/// thread at a time. Error, naming the offset in the outermost message: the bytes are no message.
class WireReader {
 public:
  static constexpr int max_depth = 100;  ///< of messages and groups in each other

  /// Stands in front of the first field.
  explicit WireReader(std::span<const std::byte> message)
      : WireReader(message, message.data(), 0) {}

  /// Goes to the next field; false at the end.
  bool next();
  std::uint32_t field() const { return field_; }  ///< number of the present field
  WireType type() const { return type_; }         ///< how its value is encoded
  /// Whether the present field has this number and this wire type.
  bool is(std::uint32_t field, WireType type) const { return field_ == field && type_ == type; }

  /// The value of the field; the function must be the one for its wire type: bytes(), text() and
  /// message() for length_delimited.
  ///@{
  std::uint64_t varint();
  std::uint32_t fixed32();
  std::uint64_t fixed64();
  std::span<const std::byte> bytes();
  std::string_view text();
  WireReader message();
  ///@}

  /// In place of next(), when this is no message but a packed field: whether all values are read.
  bool done() const { return rest_.empty(); }

  /// Throws Error with `what` and the offset of the next byte.
  template <class... What>
  [[noreturn]] void fail_here(const What&... what) const {
    fail("protobuf: at byte ", offset(), ": ", what...);
  }

 private:
  WireReader(std::span<const std::byte> message, const std::byte* origin, int depth);
  std::int64_t offset() const { return rest_.data() - origin_; }
  std::span<const std::byte> next_bytes(std::uint64_t count);
  void read_tag();
  void skip(int depth);

  std::span<const std::byte> rest_;
  const std::byte* origin_;  // where the outermost message begins
  int depth_;
  std::uint32_t field_ = 0;
  WireType type_ = WireType::varint;
  bool unread_ = false;  // next() stands before a value that nobody has read
};

/// Appends fields to a message. Thread rules: used by one thread at a time.
class WireWriter {
 public:
  /// A field of the wire type of this name; float32() writes fixed32, float64() fixed64, bytes()
  /// and text() length_delimited.
  ///@{
  void varint(std::uint32_t field, std::uint64_t value);
  void fixed32(std::uint32_t field, std::uint32_t value);
  void fixed64(std::uint32_t field, std::uint64_t value);
  void float32(std::uint32_t field, float value) {
    fixed32(field, std::bit_cast<std::uint32_t>(value));
  }
  void float64(std::uint32_t field, double value) {
    fixed64(field, std::bit_cast<std::uint64_t>(value));
  }
  void bytes(std::uint32_t field, std::span<const std::byte> value);
  void text(std::uint32_t field, std::string_view value);
  ///@}
  /// A packed field: the values one after the other, as fixed32 or fixed64 without tags.
  ///@{
  void packed_floats(std::uint32_t field, std::span<const float> values) {
    bytes(field, std::as_bytes(values));
  }
  void packed_doubles(std::uint32_t field, std::span<const double> values) {
    bytes(field, std::as_bytes(values));
  }
  ///@}
  /// A message or packed field with what body() writes: fields, or values by packed_varint().
  template <class Body>
  void message(std::uint32_t field, Body body) {
    std::size_t begin = out_.size();
    body();
    put_head_before(begin, field);
  }
  void packed_varint(std::uint64_t value);  ///< a value without tag, in the body of message()

  /// The message; the writer is empty then.
  std::vector<std::byte> release() { return std::exchange(out_, {}); }

 private:
  void tag(std::uint32_t field, WireType type);
  void append(std::span<const std::byte> bytes) {
    out_.insert(out_.end(), bytes.begin(), bytes.end());
  }
  void put_head_before(std::size_t begin, std::uint32_t field);

  std::vector<std::byte> out_;
};

}  // namespace belfry::protobuf
