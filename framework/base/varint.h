#pragma once
// Numbers in 7 bits a byte, the lowest first; all bytes but the last have their highest bit set.
// Protocol Buffers and the tables of LevelDB write numbers so.

#include <cstddef>
#include <cstdint>
#include <span>

namespace belfry {

struct Varint {
  std::uint64_t value = 0;
  std::size_t bytes = 0;  ///< that it takes; 0: it is cut short or has more than 64 bits
};

/// The number at the front of some bytes.
inline Varint read_varint(std::span<const std::byte> from) {
  std::uint64_t value = 0;
  for (std::size_t i = 0; i < 10 && i < from.size(); ++i) {
    auto byte = std::to_integer<std::uint64_t>(from[i]);
    if (i == 9 && byte > 1) break;  // the tenth byte holds the highest bit alone
    value |= (byte & 0x7f) << (7 * i);
    if (byte < 0x80) return {value, i + 1};
  }
  return {};
}

/// Appends it to a string or a vector of bytes.
template <class Out>
void append_varint(Out& out, std::uint64_t value) {
  using Byte = typename Out::value_type;
  for (; value >= 0x80; value >>= 7) out.push_back(static_cast<Byte>(value | 0x80));
  out.push_back(static_cast<Byte>(value));
}

}  // namespace belfry
