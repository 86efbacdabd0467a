#pragma once
// Augmentations that change colours; see Augmentation for the ranges of u8 and f32 images. Factors
// are torchvision's. Grey is 0.299 r + 0.587 g + 0.114 b (ITU-R BT.601). Results are rounded to
// nearest in u8 (torchvision truncates) and clamped in both types.

#include "belfry/data/augment/augmentation.h"
#include "belfry/data/augment/options.h"
#include "belfry/framework/base/fields.h"

namespace belfry::data {

/// Options of brightness(), contrast() and saturation().
struct FactorOptions {
  Range factor{0.6, 1.4};       ///< at least 0; 1 changes nothing
  std::string image = "image";  ///< name of the image among the features
  BELFRY_FIELDS(factor, image)
};

/// x f. (tf.image.adjust_brightness adds instead.) Any number of channels.
Augmentation brightness(FactorOptions options = {});

/// f x + (1 - f) m, m being the mean of the grey image (tf.image.adjust_contrast takes the mean of
/// each channel). 1 or 3 channels.
Augmentation contrast(FactorOptions options = {});

/// f x + (1 - f) g, g being the pixel's grey (tf.image.adjust_saturation scales S of HSV instead).
/// 3 channels; an image with 1 stays as it is.
Augmentation saturation(FactorOptions options = {});

/// Options of hue().
struct HueOptions {
  Range shift{-0.1, 0.1};       ///< turns of the colour circle, from -0.5 to 0.5
  std::string image = "image";  ///< name of the image among the features
  BELFRY_FIELDS(shift, image)
};

/// The hue of HSV moved round the circle; 1/3 makes red green. 3 channels; an image with 1 stays as
/// it is.
Augmentation hue(HueOptions options = {});

/// Options of color_jitter(). An amount of 0 leaves its property as it is.
struct ColorJitterOptions {
  double brightness = 0.4;      ///< factors from max(0, 1 - this) to 1 + this
  double contrast = 0.4;        ///< likewise
  double saturation = 0.4;      ///< likewise
  double hue = 0.1;             ///< shifts from minus this to this, at most 0.5
  std::string image = "image";  ///< name of the image among the features
  BELFRY_FIELDS(brightness, contrast, saturation, hue, image)
};

/// The four in random order, all orders equally likely, as torchvision's ColorJitter. 1 or 3
/// channels.
Augmentation color_jitter(ColorJitterOptions options = {});

/// Options of grayscale().
struct GrayscaleOptions {
  double probability = 1;       ///< chance that an image becomes grey, 0 to 1
  std::int64_t channels = 3;    ///< of the result: 3 equal ones, or 1 (then probability must be 1)
  std::string image = "image";  ///< name of the image among the features
  BELFRY_FIELDS(probability, channels, image)
};

/// The grey image, with the given probability. 1 or 3 channels; an image with 1 stays as it is.
Augmentation grayscale(GrayscaleOptions options = {});

}  // namespace belfry::data
