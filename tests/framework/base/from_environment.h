#pragma once
// Numbers with which a test is told how much to try.

#include <cstdint>
#include <cstdlib>
#include <stdexcept>
#include <string>

namespace belfry {

inline std::int64_t from_environment(const char* name, std::int64_t otherwise) {
  const char* set = std::getenv(name);
  if (!set) return otherwise;
  char* end = nullptr;
  const std::int64_t number = std::strtoll(set, &end, 10);
  if (end == set || *end != '\0')
    throw std::invalid_argument(std::string(name) + " is `" + set + "`: expected a whole number");
  return number;
}

}  // namespace belfry
