#include "belfry/framework/base/crc32c.h"

#include <array>
#include <cstring>

#if defined(__x86_64__)
#include <nmmintrin.h>
#endif

namespace belfry {
namespace {

constexpr std::array<std::uint32_t, 256> make_table() {
  std::array<std::uint32_t, 256> table{};
  for (std::uint32_t i = 0; i < table.size(); ++i) {
    std::uint32_t crc = i;
    for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1) ^ (crc & 1 ? 0x82F63B78 : 0);
    table[i] = crc;
  }
  return table;
}

constexpr std::array<std::uint32_t, 256> table = make_table();

#if defined(__x86_64__)

// The instruction takes three cycles and one can begin in each, so that three runs of `lane_bytes`
// are done at once. What their states have in common is that they are linear: the state after a and
// b is the state after a, moved past as many zeros as b has bytes, plus that of b alone.
constexpr std::size_t lane_bytes = 1024;

using Shift = std::array<std::array<std::uint32_t, 256>, 4>;

/// The effect of lane_bytes zeros on each byte of a state.
constexpr Shift make_shift() {
  Shift shift{};
  for (std::uint32_t bit = 0; bit < 32; ++bit) {
    std::uint32_t state = std::uint32_t{1} << bit;
    for (std::size_t i = 0; i < lane_bytes; ++i) state = (state >> 8) ^ table[state & 0xff];
    auto& of_byte = shift[bit / 8];
    for (std::uint32_t value = 0; value < 256; ++value)
      if (value >> (bit % 8) & 1) of_byte[value] ^= state;
  }
  return shift;
}

constexpr Shift shift = make_shift();

std::uint64_t past_a_lane(std::uint64_t state) {
  return shift[0][state & 0xff] ^ shift[1][state >> 8 & 0xff] ^ shift[2][state >> 16 & 0xff]
         ^ shift[3][state >> 24];
}

std::uint64_t load(const std::byte* at) {
  std::uint64_t word;
  std::memcpy(&word, at, sizeof word);
  return word;
}

__attribute__((target("sse4.2"))) std::uint32_t crc32c_sse42(std::span<const std::byte> bytes,
                                                             std::uint32_t crc) {
  std::uint64_t state = ~crc;
  for (; bytes.size() >= 3 * lane_bytes; bytes = bytes.subspan(3 * lane_bytes)) {
    std::uint64_t second = 0, third = 0;
    const std::byte* at = bytes.data();
    for (const std::byte* end = at + lane_bytes; at != end; at += 8) {
      state = _mm_crc32_u64(state, load(at));
      second = _mm_crc32_u64(second, load(at + lane_bytes));
      third = _mm_crc32_u64(third, load(at + 2 * lane_bytes));
    }
    state = past_a_lane(past_a_lane(state) ^ second) ^ third;
  }
  for (; bytes.size() >= 8; bytes = bytes.subspan(8))
    state = _mm_crc32_u64(state, load(bytes.data()));
  std::uint32_t tail = state;
  for (std::byte byte : bytes) tail = _mm_crc32_u8(tail, static_cast<std::uint8_t>(byte));
  return ~tail;
}
#endif

}  // namespace

std::uint32_t crc32c_portable(std::span<const std::byte> bytes, std::uint32_t crc) {
  crc = ~crc;
  for (std::byte byte : bytes)
    crc = (crc >> 8) ^ table[(crc ^ static_cast<std::uint32_t>(byte)) & 0xff];
  return ~crc;
}

std::uint32_t crc32c(std::span<const std::byte> bytes, std::uint32_t crc) {
#if defined(__x86_64__)
  static const bool has_sse42 = __builtin_cpu_supports("sse4.2");
  if (has_sse42) return crc32c_sse42(bytes, crc);
#endif
  return crc32c_portable(bytes, crc);
}

}  // namespace belfry
