#pragma once
// Numbers out of bytes, for the readers of binary formats.

#include <bit>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "belfry/framework/base/error.h"

namespace belfry::data {

/// Reads whole numbers at byte offsets. Does not own the bytes. Error naming the data when they end
/// before the number does.
class BinaryView {
 public:
  BinaryView(std::span<const std::byte> bytes, std::string_view name,
             std::endian order = std::endian::little)
      : bytes_(bytes), name_(name), order_(order) {}

  std::int64_t size() const { return bytes_.size(); }
  const std::string& name() const { return name_; }

  std::uint8_t u8(std::int64_t offset) const { return number<std::uint8_t>(offset); }
  std::uint16_t u16(std::int64_t offset) const { return number<std::uint16_t>(offset); }
  std::uint32_t u32(std::int64_t offset) const { return number<std::uint32_t>(offset); }
  std::uint64_t u64(std::int64_t offset) const { return number<std::uint64_t>(offset); }

  std::span<const std::byte> slice(std::int64_t offset, std::int64_t count) const {
    require(offset >= 0 && count >= 0 && offset <= size() && count <= size() - offset, name_,
            ": truncated: ", count, " bytes are expected at byte ", offset,
            " but the data end at byte ", size());
    return bytes_.subspan(offset, count);
  }

  /// Whether the bytes at `offset` spell `text`; false where they end before.
  bool spells(std::int64_t offset, std::string_view text) const {
    std::int64_t count = text.size();
    if (offset < 0 || offset > size() || count > size() - offset) return false;
    for (std::int64_t i = 0; i < count; ++i)
      if (u8(offset + i) != static_cast<std::uint8_t>(text[i])) return false;
    return true;
  }

 private:
  template <std::unsigned_integral T>
  T number(std::int64_t offset) const {
    auto bytes = slice(offset, sizeof(T));
    std::uint64_t out = 0;
    for (std::size_t i = 0; i < sizeof(T); ++i) {
      std::size_t from_top = order_ == std::endian::big ? i : sizeof(T) - 1 - i;
      out = out << 8 | std::to_integer<std::uint64_t>(bytes[from_top]);
    }
    return static_cast<T>(out);
  }

  std::span<const std::byte> bytes_;
  std::string name_;
  std::endian order_;
};

}  // namespace belfry::data
