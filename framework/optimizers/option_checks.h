#pragma once
// What optimizers check of their options. NaN fails every check.

#include <string_view>

#include "belfry/framework/base/error.h"

namespace belfry {

/// A decay rate of a moving mean: in [0, 1).
inline void require_rate(std::string_view optimizer, std::string_view field, double value) {
  require(value >= 0 && value < 1, optimizer, ": ", field, " is ", value,
          "; it must lie in [0, 1)");
}

inline void require_above_zero(std::string_view optimizer, std::string_view field, double value) {
  require(value > 0, optimizer, ": ", field, " is ", value, "; it must be above 0");
}

inline void require_not_negative(std::string_view optimizer, std::string_view field, double value) {
  require(value >= 0, optimizer, ": ", field, " is ", value, "; it must be at least 0");
}

}  // namespace belfry
