#pragma once
// From a decoded photograph to a network's input in one go: random part, resized, perhaps flipped,
// normalised. For readers of images; random_resized_crop is the augmentation.

#include <array>
#include <cstdint>

#include "belfry/data/augment/options.h"
#include "belfry/data/formats/images/rectangle.h"
#include "belfry/framework/tensor/philox.h"

namespace belfry::data {

/// Options of draw_resized_crop().
struct ResizedCropOptions {
  Range scale{0.08, 1};           ///< of the part's area to the image's
  Range ratio{3.0 / 4, 4.0 / 3};  ///< of the part's width to its height
  double flip_probability = 0.5;  ///< of exchanging left and right
};

/// The numbers that draw_resized_crop() has drawn.
struct ResizedCropParameters {
  Rectangle crop;     ///< the part, in pixels of the whole image
  bool flip = false;  ///< exchange left and right
};

/// The numbers of random_resized_crop followed by flip_horizontal, without an image, so that a
/// decoder can decode that part alone. Takes as much from `random` as those two and draws the same.
/// Error: height or width below 1, scale outside (0, 1], ratio outside [0.001, 1000], a range
/// whose low is above its high, probability outside [0, 1].
ResizedCropParameters draw_resized_crop(std::int64_t height, std::int64_t width,
                                        const ResizedCropOptions& options, PhiloxStream& random);

/// Pixels [h, w, 3], u8, whose rows need not follow each other directly.
struct PixelView {
  const std::uint8_t* data = nullptr;  ///< the first pixel of the top row
  /// In pixels.
  ///@{
  std::int64_t height = 0, width = 0;
  ///@}
  std::int64_t row_bytes = 0;  ///< from one row to the next, at least 3 * width
  std::int64_t shrink = 1;     ///< the length of a pixel's sides in the units of crops
};

/// Writes (pixel / 255 - mean) / deviation of the part `crop`, resized to size x size, to `out`
/// [size, size, 3]: linear along an axis that grows, the mean of the area along one that shrinks,
/// as resize() by default, in single precision from end to end. For an image decoded at 1 / shrink
/// of its size, the crop is in pixels of the full size, and may begin and end within pixels: they
/// count for the part that is covered. Thread rules: any number of threads may call it with
/// different `out`. Error: crop not within the image, size outside [1, 32766], shrink below 1,
/// numbers that are not finite, deviation below 1e-6.
void resize_crop_into(const PixelView& image, const Rectangle& crop, bool flip,
                      const std::array<float, 3>& mean, const std::array<float, 3>& deviation,
                      float* out, std::int64_t size);

}  // namespace belfry::data
