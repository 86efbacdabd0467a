#pragma once
// Numbers with which a test is told how much to try.

#include <cstdint>
#include <cstdlib>
#include <string>

namespace belfry {

inline std::int64_t from_environment(const char* name, std::int64_t otherwise) {
  const char* set = std::getenv(name);
  return set ? std::stoll(set) : otherwise;
}

}  // namespace belfry
