#pragma once
// Checks of options. Internal to optimizers and models/. Errors name the function whose option it
// is, the field, its value and what is allowed. NaN fails every check.

#include <algorithm>
#include <cstdint>
#include <string_view>
#include <vector>

#include "belfry/framework/base/error.h"

namespace belfry {

/// A rate of dropout, or the decay rate of a moving mean: in [0, 1).
inline void require_rate(std::string_view function, std::string_view field, double value) {
  require(value >= 0 && value < 1, function, ": ", field, " is ", value, "; it must lie in [0, 1)");
}

/// A probability, a threshold of one, or a fraction that may be 1: in [0, 1].
inline void require_fraction(std::string_view function, std::string_view field, double value) {
  require(value >= 0 && value <= 1, function, ": ", field, " is ", value,
          "; it must lie in [0, 1]");
}

inline void require_above_zero(std::string_view function, std::string_view field, double value) {
  require(value > 0, function, ": ", field, " is ", value, "; it must be above 0");
}

inline void require_not_negative(std::string_view function, std::string_view field, double value) {
  require(value >= 0, function, ": ", field, " is ", value, "; it must be at least 0");
}

inline void require_at_least(std::int64_t lowest, std::string_view function, std::string_view field,
                             std::int64_t value) {
  require(value >= lowest, function, ": ", field, " is ", value, "; it must be at least ", lowest);
}

/// Sizes of which each is at least 1; the list may be empty.
inline void require_sizes(std::string_view function, std::string_view field,
                          const std::vector<std::int64_t>& values) {
  require(std::all_of(values.begin(), values.end(), [](std::int64_t size) { return size >= 1; }),
          function, ": ", field, " is [", join(values, ", "), "]; each must be at least 1");
}

}  // namespace belfry
