#pragma once
// From pixels to the numbers that a network takes.

#include "belfry/data/augment/augmentation.h"
#include "belfry/framework/base/fields.h"

namespace belfry::data {

/// Options of normalize().
struct NormalizeOptions {
  std::vector<double> mean{};       ///< of each channel, or one number for all; must be given
  std::vector<double> deviation{};  ///< standard deviations, likewise
  /// The value that becomes 1 before mean and deviation apply; 0: 255 in u8, 1 in f32. i32 images
  /// need one: 65535 for those of 16 bits.
  double unit = 0;
  std::string image = "image";  ///< name of the image among the features
  BELFRY_FIELDS(mean, deviation, unit, image)
};

/// (x / unit - mean) / deviation, as torchvision's ToTensor and Normalize: both options refer to
/// values in [0, 1]. One pass, within the image's memory if it is f32 and nobody else holds it.
/// The result is f32, of the same shape. ImageNet: {.mean = {0.485, 0.456, 0.406}, .deviation =
/// {0.229, 0.224, 0.225}}. The image is u8, i32 or f32 of any rank from 1 on (a volume, a batch),
/// channels last. Error: no numbers, or neither one nor as many as channels; numbers that are not
/// finite, deviation below 1e-6; unit neither 0 nor from 1e-6 to 1e12, or missing for i32; an image
/// of another element type.
Augmentation normalize(NormalizeOptions options);

/// Options of to_float().
struct ToFloatOptions {
  double unit = 0;              ///< the value that becomes 1: see NormalizeOptions
  std::string image = "image";  ///< name of the array among the features
  BELFRY_FIELDS(unit, image)
};

/// x / unit as f32: by default u8 is divided by 255, f32 stays as it is, and i32 needs a unit. Any
/// shape, a scalar too. Error: as normalize() for unit and element types.
Augmentation to_float(ToFloatOptions options = {});

}  // namespace belfry::data
