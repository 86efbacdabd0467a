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
  std::int64_t count = 0;                                 ///< the number
  constexpr explicit Steps(std::int64_t n) : count(n) {}  ///< `n` steps
  auto operator<=>(const Steps&) const = default;         ///< by number
};

/// A number of bytes.
struct Bytes {
  std::int64_t count = 0;                                 ///< the number
  constexpr explicit Bytes(std::int64_t n) : count(n) {}  ///< `n` bytes
  auto operator<=>(const Bytes&) const = default;         ///< by number
};

/// A cadence: every so many steps, or every so many seconds or milliseconds; never both.
using Every = std::variant<Steps, std::chrono::milliseconds>;

/// 0.25 for 250 ms.
inline double in_seconds(std::chrono::milliseconds time) {
  return static_cast<double>(time.count()) / 1000;
}

/// "10 steps", "600 s", "250 ms"
inline std::string to_string(const Every& every) {
  if (const auto* steps = std::get_if<Steps>(&every))
    return std::to_string(steps->count) + " steps";
  std::int64_t ms = std::get<std::chrono::milliseconds>(every).count();
  return ms % 1000 == 0 ? std::to_string(ms / 1000) + " s" : std::to_string(ms) + " ms";
}

/// Whether it is above 0.
inline bool is_positive(const Every& every) {
  return std::visit([](const auto& e) { return e > std::decay_t<decltype(e)>(0); }, every);
}

}  // namespace belfry
