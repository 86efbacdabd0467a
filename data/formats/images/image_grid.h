#pragma once
// Many small images as one, to look at.

#include <span>

#include "belfry/framework/tensor/array.h"

namespace belfry::data {

/// Options of image_grid().
struct ImageGridOptions {
  int columns = 8;  ///< images beside each other
  int border = 2;   ///< black pixels around each image
  /// The values that become black and white; `low` is below `high`.
  ///@{
  double low = 0, high = 255;
  ///@}
};

/// Images [h, w, c] of one shape, of any type but bool, row after row: u8 [rows * (h + border) +
/// border, columns * (w + border) + border, c], for encode_png() with 1, 3 or 4 channels. Values
/// outside low..high are taken for the nearest, NaN for low. Places without an image are black.
/// Error: no image, images that differ in shape, columns below 1, a border below 0, low not below
/// high.
Array image_grid(std::span<const Array> images, const ImageGridOptions& options = {});

}  // namespace belfry::data
