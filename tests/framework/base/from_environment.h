#pragma once
// Numbers with which a test is told how much to try.

#include <charconv>
#include <cstdint>
#include <cstdlib>
#include <stdexcept>
#include <string>

#include "belfry/framework/base/text.h"

namespace belfry {

inline std::int64_t from_environment(const char* name, std::int64_t otherwise) {
  const char* set = std::getenv(name);
  if (!set) return otherwise;
  const std::string words = set;
  std::int64_t number = 0;
  const char* end = words.data() + words.size();
  if (auto read = std::from_chars(words.data(), end, number);
      read.ec != std::errc() || read.ptr != end)
    throw std::invalid_argument(concat(name, " is `", words, "`: expected a whole number"));
  return number;
}

}  // namespace belfry
