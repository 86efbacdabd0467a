#pragma once
// Counts, which tests/trust/run.sh adds up.

#include <cstdint>
#include <iostream>
#include <string_view>

namespace belfry {

/// Prints "counted 312 random models" on a line of its own: how often what a test tries was tried.
inline void tell_count(std::int64_t count, std::string_view of) {
  std::cout << "counted " << count << " " << of << std::endl;
}

}  // namespace belfry
