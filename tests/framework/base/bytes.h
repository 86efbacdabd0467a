#pragma once
// Bytes in tests of formats.

#include <gtest/gtest.h>

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace belfry {

using ByteVector = std::vector<std::byte>;

/// hex("0a ff") is two bytes; spaces and line ends do not count.
inline ByteVector hex(std::string_view digits) {
  ByteVector out;
  std::string pair;
  for (char c : digits) {
    if (c == ' ' || c == '\n') continue;
    pair += c;
    if (pair.size() < 2) continue;
    out.push_back(static_cast<std::byte>(std::stoi(pair, nullptr, 16)));
    pair.clear();
  }
  EXPECT_TRUE(pair.empty()) << digits;
  return out;
}

inline ByteVector operator+(ByteVector a, std::span<const std::byte> b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

}  // namespace belfry
