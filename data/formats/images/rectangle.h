#pragma once
// A part of an image.

#include <cstdint>

namespace belfry::data {

/// Rows from `top` on and columns from `left` on, in pixels from the upper left corner.
struct Rectangle {
  /// In pixels.
  ///@{
  std::int64_t top = 0, left = 0, height = 0, width = 0;
  ///@}
  bool operator==(const Rectangle&) const = default;  ///< all four are equal
};

}  // namespace belfry::data
