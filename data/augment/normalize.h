#pragma once
// From pixels to the numbers that a network takes.

#include "belfry/data/augment/augmentation.h"

namespace belfry::data {

struct NormalizeOptions {
  std::vector<double> mean{};       ///< of each channel, or one number for all; must be given
  std::vector<double> deviation{};  ///< standard deviations, likewise
  std::string image = "image";
};

/// (x - mean) / deviation with u8 images divided by 255 first, as torchvision's ToTensor and
/// Normalize: both options refer to values in [0, 1]. One pass. The result is f32, of the same
/// shape. ImageNet: {.mean = {0.485, 0.456, 0.406}, .deviation = {0.229, 0.224, 0.225}}. The image
/// may have any rank from 1 on (a volume, a batch), channels last. Error: no numbers, or neither
/// one nor as many as channels; deviation not above 0; an image that is neither u8 nor f32.
Augmentation normalize(NormalizeOptions options);

struct ToFloatOptions {
  std::string image = "image";
};

/// u8 divided by 255, as f32; f32 as it is. Any shape. Error: another element type.
Augmentation to_float(ToFloatOptions options = {});

}  // namespace belfry::data
