#pragma once
// Quantities whose unit stands in their type.

#include <chrono>
#include <compare>
#include <cstdint>
#include <string>
#include <variant>

namespace belfry {

/// A number of training steps.
struct Steps {
  std::int64_t count = 0;
  constexpr explicit Steps(std::int64_t n) : count(n) {}
  auto operator<=>(const Steps&) const = default;
};

/// A number of bytes.
struct Bytes {
  std::int64_t count = 0;
  constexpr explicit Bytes(std::int64_t n) : count(n) {}
  auto operator<=>(const Bytes&) const = default;
};

/// A cadence: every so many steps, or every so many seconds; never both.
using Every = std::variant<Steps, std::chrono::seconds>;

inline std::string to_string(const Every& every) {
  if (const auto* steps = std::get_if<Steps>(&every))
    return std::to_string(steps->count) + " steps";
  return std::to_string(std::get<std::chrono::seconds>(every).count()) + " s";
}

}  // namespace belfry
