#pragma once
// Augmentations that change the size of an image. Batches need equal sizes: with multi_scale, or
// resize_short_side alone, use batches of one or group by size.

#include "belfry/data/augment/augmentation.h"
#include "belfry/data/augment/options.h"
#include "belfry/framework/base/fields.h"

namespace belfry::data {

/// Options of crop() and center_crop().
struct CropOptions {
  std::int64_t height = 0;           ///< of the result, in pixels; must be given
  std::int64_t width = 0;            ///< likewise
  std::string image = "image";       ///< name of the image among the features
  std::vector<std::string> masks{};  ///< names of the masks that move along
  BELFRY_FIELDS(height, width, image, masks)
};

/// A part of height x width pixels, all places equally likely. Error: larger than the image.
Augmentation crop(CropOptions options);

/// The part in the middle. Where the remainder is odd, the side with more pixels cut away is the
/// lower or right one (as Albumentations; torchvision rounds to even). Error: larger than the
/// image.
Augmentation center_crop(CropOptions options);

/// Options of pad_and_crop().
struct PadAndCropOptions {
  std::int64_t padding = 4;          ///< pixels added on each side
  Border border = Border::constant;  ///< the added pixels' values
  double fill = 0;       ///< in the image's own numbers, as Augmentation says: 255 is white in u8
  double mask_fill = 0;  ///< in the masks'
  std::string image = "image";       ///< name of the image among the features
  std::vector<std::string> masks{};  ///< names of the masks that move along
  BELFRY_FIELDS(padding, border, fill, mask_fill, image, masks)
};

/// Padded on all sides, then a random part of the old size: the usual augmentation for CIFAR-10.
/// Error: padding outside [0, 1024]; with Border::constant, a fill that does not fit.
Augmentation pad_and_crop(PadAndCropOptions options = {});

/// Options of resize().
struct ResizeImageOptions {
  std::int64_t height = 0;                              ///< of the result, in pixels; must be given
  std::int64_t width = 0;                               ///< likewise
  Interpolation interpolation = Interpolation::linear;  ///< masks take the nearest pixel
  bool antialias = true;             ///< linear, cubic: take the area's mean along axes that shrink
  std::string image = "image";       ///< name of the image among the features
  std::vector<std::string> masks{};  ///< names of the masks that move along
  BELFRY_FIELDS(height, width, interpolation, antialias, image, masks)
};

/// Resized, with pixel centres at half-integers: the new pixel i shows the old place
/// (i + 1/2) old / new - 1/2. The default is linear along axes that grow and the mean of the area
/// along those that shrink; Pillow and torchvision with antialias widen the linear kernel instead,
/// which blurs a little more. `antialias = false` samples 2 x 2 pixels however much an image
/// shrinks, as OpenCV, PyTorch's interpolate and tf.image.resize do by default. Masks and
/// `nearest` take the pixel nearest to the place. Error: sizes outside [1, 32766].
Augmentation resize(ResizeImageOptions options);

/// Options of resize_short_side().
struct ResizeShortSideOptions {
  std::int64_t size = 0;  ///< of the shorter side, in pixels; must be given
  Interpolation interpolation = Interpolation::linear;  ///< as for resize()
  bool antialias = true;                                ///< as for resize()
  std::string image = "image";                          ///< name of the image among the features
  std::vector<std::string> masks{};                     ///< names of the masks that move along
  BELFRY_FIELDS(size, interpolation, antialias, image, masks)
};

/// Resized so that the shorter side has `size` pixels and the longer floor(long size / short), as
/// torchvision's Resize with one number. See resize().
Augmentation resize_short_side(ResizeShortSideOptions options);

/// Options of multi_scale().
struct MultiScaleOptions {
  std::vector<std::int64_t> sizes{};                    ///< in pixels; must be given
  Interpolation interpolation = Interpolation::linear;  ///< as for resize()
  bool antialias = true;                                ///< as for resize()
  std::string image = "image";                          ///< name of the image among the features
  std::vector<std::string> masks{};                     ///< names of the masks that move along
  BELFRY_FIELDS(sizes, interpolation, antialias, image, masks)
};

/// Resized to a square with one of these sizes, all equally likely. See resize().
Augmentation multi_scale(MultiScaleOptions options);

/// Options of random_resized_crop().
struct RandomResizedCropOptions {
  std::int64_t height = 0;                              ///< of the result, in pixels; must be given
  std::int64_t width = 0;                               ///< likewise
  Range scale{0.08, 1};                                 ///< of the part's area to the image's
  Range ratio{3.0 / 4, 4.0 / 3};                        ///< of the part's width to its height
  Interpolation interpolation = Interpolation::linear;  ///< as for resize()
  bool antialias = true;                                ///< as for resize()
  std::string image = "image";                          ///< name of the image among the features
  std::vector<std::string> masks{};                     ///< names of the masks that move along
  BELFRY_FIELDS(height, width, scale, ratio, interpolation, antialias, image, masks)
};

/// A random part of random size, resized (Szegedy et al., "Going deeper with convolutions", CVPR
/// 2015): area uniform in `scale`, the logarithm of the ratio uniform, sides rounded, all places
/// equally likely. After ten draws that do not fit, the largest part in the middle whose ratio is
/// allowed. As torchvision's RandomResizedCrop. resize() tells how it is resized, resized_crop.h
/// has the same without detours for the last step of a pipeline of photographs. Error: scale
/// outside (0, 1], ratio outside [0.001, 1000].
Augmentation random_resized_crop(RandomResizedCropOptions options);

}  // namespace belfry::data
