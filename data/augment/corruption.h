#pragma once
// Augmentations that take information away: blur, noise, compression, covered parts. Masks stay.

#include "belfry/data/augment/augmentation.h"
#include "belfry/data/augment/options.h"
#include "belfry/framework/base/fields.h"

namespace belfry::data {

/// Options of gaussian_blur().
struct GaussianBlurOptions {
  Range sigma{0.1, 2};          ///< standard deviation in pixels
  std::string image = "image";  ///< name of the image among the features
  BELFRY_FIELDS(sigma, image)
};

/// Smoothed by a Gaussian that reaches ceil(3 sigma) pixels to each side, with Border::reflect (as
/// torchvision, whose kernel has a fixed size). Any range of values. u8 is computed in f32 and
/// rounded to nearest, which takes up to half as long again as OpenCV's own, coarser sums of bytes.
/// Error: sigma outside (0, 100].
Augmentation gaussian_blur(GaussianBlurOptions options = {});

/// Options of gaussian_noise().
struct GaussianNoiseOptions {
  Range deviation{0, 0.1};      ///< where 1 is the whole range: 255 in u8
  bool clip = true;             ///< to [0, 1] in f32; u8 always stays in 0..255
  std::string image = "image";  ///< name of the image among the features
  BELFRY_FIELDS(deviation, clip, image)
};

/// Independent normal numbers added to all elements; their standard deviation is drawn once an
/// image. Error: deviation outside [0, 10].
Augmentation gaussian_noise(GaussianNoiseOptions options = {});

/// Options of jpeg_artefacts().
struct JpegArtefactsOptions {
  WholeRange quality{30, 95};   ///< the encoder's, within 1 to 100; low ones lose more
  std::string image = "image";  ///< name of the image among the features
  BELFRY_FIELDS(quality, image)
};

/// Encoded as JPEG (with half the resolution in colour, as usual) and decoded again. f32 images
/// pass through 8 bits. 1 or 3 channels. Error: quality outside [1, 100].
Augmentation jpeg_artefacts(JpegArtefactsOptions options = {});

/// Options of cutout().
struct CutoutOptions {
  std::int64_t size = 8;        ///< of the squares' sides, in pixels
  std::int64_t count = 1;       ///< of squares
  double fill = 0;              ///< in the image's own numbers: 255 is white in u8, 1 in f32
  std::string image = "image";  ///< name of the image among the features
  BELFRY_FIELDS(size, count, fill, image)
};

/// Squares covered: DeVries and Taylor, "Improved regularization of convolutional neural networks
/// with cutout", 2017. The centre is any pixel, all equally likely, so that a square may stand out
/// of the image; it covers size pixels from centre - floor(size / 2) on. Error: size outside
/// [1, 32766], count outside [1, 10000], a fill that does not fit.
Augmentation cutout(CutoutOptions options = {});

/// Options of random_erasing().
struct RandomErasingOptions {
  double probability = 0.5;  ///< chance of a rectangle, 0 to 1
  Range scale{0.02, 0.33};   ///< of the rectangle's area to the image's
  Range ratio{0.3, 3.3};     ///< of its height to its width
  double fill = 0;           ///< in the image's own numbers: 255 is white in u8, 1 in f32
  bool noise = false;  ///< fill with noise: normal with variance 1 in f32, uniform bytes in u8
  std::string image = "image";  ///< name of the image among the features
  BELFRY_FIELDS(probability, scale, ratio, fill, noise, image)
};

/// A rectangle covered: Zhong et al., "Random erasing data augmentation", AAAI 2020, as
/// torchvision's RandomErasing: area uniform in `scale`, the logarithm of the ratio uniform, sides
/// rounded and smaller than the image's, all places equally likely; an image into which none of ten
/// draws fits stays as it is. Error: probability outside [0, 1], scale outside (0, 1], ratio
/// outside [0.001, 1000], a fill that does not fit.
Augmentation random_erasing(RandomErasingOptions options = {});

}  // namespace belfry::data
