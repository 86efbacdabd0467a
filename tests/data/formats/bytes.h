#pragma once
// Bytes in tests of file formats.

#include <cstddef>
#include <cstdint>
#include <fstream>
#include <span>
#include <string>
#include <string_view>

#include "../../framework/base/bytes.h"
#include "belfry/framework/tensor/philox.h"

namespace belfry::data {

inline ByteVector bytes_of(std::string_view text) {
  auto bytes = std::as_bytes(std::span(text));
  return {bytes.begin(), bytes.end()};
}

inline std::string text_of(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

inline std::span<const std::byte> first(const ByteVector& bytes, std::size_t count) {
  return std::span(bytes).first(count);
}

/// Bytes without a pattern, the same at every run.
inline ByteVector random_bytes(std::size_t count, std::uint64_t seed = 1) {
  PhiloxStream random(philox_key(seed, "bytes"));
  ByteVector out(count);
  for (std::byte& byte : out) byte = static_cast<std::byte>(random.next_u32());
  return out;
}

/// Bytes that compress well.
inline ByteVector repetitive_bytes(std::size_t count) {
  ByteVector out(count);
  for (std::size_t i = 0; i < count; ++i) out[i] = static_cast<std::byte>(i * i >> 13);
  return out;
}

inline std::string write_bytes(const std::string& path, std::span<const std::byte> bytes) {
  std::ofstream file(path, std::ios::binary);
  file << text_of(bytes);
  return path;
}

inline ByteVector read_bytes(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return bytes_of(std::string(std::istreambuf_iterator<char>(file), {}));
}

/// Calls parse(bytes) with `times` variants of `whole`: one to four bytes changed, and sometimes
/// cut short. Values that make sense in many formats are preferred.
template <class Parse>
void for_mutations(const ByteVector& whole, int times, Parse parse) {
  PhiloxStream random(philox_key(7, "mutations"));
  constexpr std::uint8_t favourites[]{0, 1, 2, 0x7f, 0x80, 0xff, ' ', '9'};
  for (int i = 0; i < times; ++i) {
    ByteVector bad = whole;
    for (auto changes = 1 + random.below(4); changes > 0; --changes) {
      std::uint8_t value = random.flip(0.5f) ? favourites[random.below(std::size(favourites))]
                                             : static_cast<std::uint8_t>(random.next_u32());
      bad[random.below(bad.size())] = std::byte{value};
    }
    if (random.flip(0.2f)) bad.resize(random.below(bad.size()));
    SCOPED_TRACE(i);
    parse(bad);
  }
}

}  // namespace belfry::data
