#include "belfry/data/formats/images/image_grid.h"

#include <algorithm>
#include <cmath>

#include "belfry/framework/base/error.h"

namespace belfry::data {
namespace {

std::uint8_t pixel(double value, const ImageGridOptions& o) {
  double fraction = (value - o.low) / (o.high - o.low);
  if (std::isnan(fraction)) return 0;
  return std::lround(255 * std::clamp(fraction, 0.0, 1.0));
}

}  // namespace

Array image_grid(std::span<const Array> images, const ImageGridOptions& o) {
  require(!images.empty(), "image_grid: there are no images");
  require(o.columns >= 1 && o.border >= 0, "image_grid: ", o.columns, " columns with a border of ",
          o.border, "; expected at least 1 and at least 0");
  require(o.low < o.high, "image_grid: low is ", o.low, ", which is not below high, ", o.high);
  const Shape& shape = images[0].shape();
  require(shape.rank() == 3, "image_grid: expected images [h, w, c], got ", images[0].type());
  std::int64_t height = shape[0], width = shape[1], channels = shape[2];
  std::int64_t rows = (std::ssize(images) + o.columns - 1) / o.columns;
  Array grid = Array::zeros(
      {rows * (height + o.border) + o.border, o.columns * (width + o.border) + o.border, channels},
      DType::u8);
  auto to = grid.span<std::uint8_t>();
  for (std::int64_t i = 0; i < std::ssize(images); ++i) {
    const Array& image = images[i];
    require(image.shape() == shape, "image_grid: image ", i, " is ", image.type(),
            " but the first is ", images[0].type());
    std::int64_t top = i / o.columns * (height + o.border) + o.border;
    std::int64_t left = i % o.columns * (width + o.border) + o.border;
    for (std::int64_t y = 0; y < height; ++y)
      for (std::int64_t x = 0; x < width * channels; ++x) {
        std::int64_t at = ((top + y) * grid.shape()[1] + left) * channels + x;
        to[at] = pixel(image.at(y * width * channels + x), o);
      }
  }
  return grid;
}

}  // namespace belfry::data
