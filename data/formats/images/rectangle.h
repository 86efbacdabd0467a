#pragma once
// A part of an image.

#include <cstdint>

namespace belfry::data {

/// In pixels from the upper left corner.
struct Rectangle {
  std::int64_t top = 0, left = 0, height = 0, width = 0;
  bool operator==(const Rectangle&) const = default;
};

}  // namespace belfry::data
