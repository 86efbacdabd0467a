#pragma once
// The types that the options of several augmentations share.

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "belfry/framework/base/fields.h"

namespace belfry::data {

using belfry::to_string;  // of enumerations

/// A number is drawn uniformly from [low, high); with low == high it is that number. In JSON, as a
/// whole range too: [low, high].
struct Range {
  double low = 0;                                 ///< at most `high`
  double high = 0;                                ///< excluded, unless it equals `low`
  bool operator==(const Range&) const = default;  ///< both ends are equal
};

/// A whole number is drawn from low to high, both included.
struct WholeRange {
  std::int64_t low = 0;                                ///< at most `high`
  std::int64_t high = 0;                               ///< included
  bool operator==(const WholeRange&) const = default;  ///< both ends are equal
};

/// The pixels beyond the border of an image whose row is `a b c`, in torchvision's words.
enum class Border {
  constant,   ///< . . a b c . . where . is the option `fill`, or `mask_fill` in masks
  edge,       ///< a a a b c c c
  reflect,    ///< c b a b c b a
  symmetric,  ///< b a a b c c b
};

/// How values between pixels are found. Masks always take the nearest pixel.
enum class Interpolation {
  nearest,  ///< the pixel whose centre is nearest
  linear,   ///< between the 2 x 2 pixels around
  cubic,    ///< between the 4 x 4 pixels around, a = -0.75 as PyTorch (Pillow has -0.5)
  area,     ///< the mean of the pixels under the new one, weighted by overlap; for resizing only
};

constexpr auto names_of(Border) { return name_list("constant", "edge", "reflect", "symmetric"); }
constexpr auto names_of(Interpolation) { return name_list("nearest", "linear", "cubic", "area"); }

}  // namespace belfry::data
