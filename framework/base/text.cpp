#include "belfry/framework/base/text.h"

#include <array>
#include <charconv>
#include <cmath>
#include <cstdio>

namespace belfry {
namespace {

template <class T>
std::string shortest(T value) {
  std::array<char, 64> buffer;
  auto [end, error] = std::to_chars(buffer.data(), buffer.data() + buffer.size(), value);
  return std::string(buffer.data(), end);
}

}  // namespace

std::string text(double value) { return shortest(value); }
std::string text(float value) { return shortest(value); }

namespace detail {

void append(std::string& out, std::string_view s) { out += s; }
void append(std::string& out, long long value) { out += std::to_string(value); }
void append(std::string& out, unsigned long long value) { out += std::to_string(value); }

}  // namespace detail

bool is_utf8(std::string_view s) {
  for (std::size_t at = 0; at < s.size();) {
    auto byte = [&](std::size_t i) { return static_cast<unsigned char>(s[i]); };
    const unsigned char first = byte(at);
    const std::size_t length = first < 0x80   ? 1
                               : first < 0xC2 ? 0
                               : first < 0xE0 ? 2
                               : first < 0xF0 ? 3
                               : first < 0xF5 ? 4
                                              : 0;
    if (length == 0 || length > s.size() - at) return false;
    for (std::size_t i = 1; i < length; ++i)
      if (byte(at + i) >> 6 != 2) return false;
    // Overlong forms, surrogates, and what lies beyond U+10FFFF.
    if (length > 2) {
      const unsigned char second = byte(at + 1);
      if ((first == 0xE0 && second < 0xA0) || (first == 0xED && second > 0x9F)
          || (first == 0xF0 && second < 0x90) || (first == 0xF4 && second > 0x8F))
        return false;
    }
    at += length;
  }
  return true;
}

std::string bytes_text(std::int64_t bytes) {
  constexpr std::array<const char*, 5> units{"B", "KiB", "MiB", "GiB", "TiB"};
  double value = bytes;
  std::size_t unit = 0;
  // From 1023.95 on, one decimal would show 1024.0 of the smaller unit.
  for (; unit + 1 < units.size() && std::abs(value) >= (unit == 0 ? 1024 : 1023.95); ++unit)
    value /= 1024;
  std::array<char, 32> buffer;
  std::snprintf(buffer.data(), buffer.size(), unit == 0 ? "%.0f %s" : "%.1f %s", value,
                units[unit]);
  return buffer.data();
}

}  // namespace belfry
