#pragma once
// The data of Unicode's canonical normalization, in ascending order of code points.

#include <cstdint>
#include <span>

namespace belfry::data::normalization {

struct Pair {
  char32_t code, first, second;  ///< a second of 0: there is none
};
struct ClassRange {
  char32_t first, last;
  std::uint8_t combining_class;  ///< never 0
};

extern const std::span<const Pair> composed;        ///< decomposed by D, and composed again by C
extern const std::span<const Pair> decomposed;      ///< decomposed for good
extern const std::span<const char32_t> ideographs;  ///< what U+F900 and on are for good; or 0
extern const std::span<const char32_t> more_ideographs;  ///< the same from U+2F800 on
extern const std::span<const ClassRange> classes;

}  // namespace belfry::data::normalization
