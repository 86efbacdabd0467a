#pragma once
// The checks that schedules make of their options.

#include <cmath>
#include <cstdint>
#include <string_view>

#include "belfry/framework/base/error.h"

namespace belfry {

inline void require_initial(std::string_view schedule, double initial) {
  require(std::isfinite(initial) && initial > 0, schedule, ": initial is ", initial,
          "; it must be finite and above 0");
}

inline void require_steps(std::string_view schedule, std::string_view field, std::int64_t steps) {
  require(steps >= 1, schedule, ": ", field, " is ", steps, "; it must be at least 1");
}

}  // namespace belfry
