#pragma once
// Augmentations that move pixels and keep the size of the image.
//
// Coordinates are those of pixel centres, x to the right and y downward, and the middle of an image
// is that of its area: ((w - 1) / 2, (h - 1) / 2). Angles are in degrees, counter-clockwise as seen
// (as torchvision's RandomRotation; its RandomAffine turns clockwise). OpenCV does the work, with
// positions rounded to 1/32 pixel. `fill` and `mask_fill` are as Augmentation says; one that does
// not fit is an Error of the call.

#include "belfry/data/augment/augmentation.h"
#include "belfry/data/augment/options.h"
#include "belfry/framework/base/fields.h"

namespace belfry::data {

/// Options of flip_horizontal() and flip_vertical().
struct FlipOptions {
  double probability = 0.5;          ///< chance of the exchange, 0 to 1
  std::string image = "image";       ///< name of the image among the features
  std::vector<std::string> masks{};  ///< names of the masks that move along
  BELFRY_FIELDS(probability, image, masks)
};

/// Left and right exchanged, with the given probability.
Augmentation flip_horizontal(FlipOptions options = {});
/// Top and bottom exchanged, with the given probability.
Augmentation flip_vertical(FlipOptions options = {});

/// Options of rotate().
struct RotateOptions {
  Range degrees{-10, 10};                               ///< angle; above 0 is counter-clockwise
  Interpolation interpolation = Interpolation::linear;  ///< for the image; not `area`
  Border border = Border::constant;                     ///< what comes in from outside
  double fill = 0;                   ///< for Border::constant, in the image's own numbers
  double mask_fill = 0;              ///< for Border::constant, in the masks'
  std::string image = "image";       ///< name of the image among the features
  std::vector<std::string> masks{};  ///< names of the masks that move along
  BELFRY_FIELDS(degrees, interpolation, border, fill, mask_fill, image, masks)
};

/// Turned about the middle by a random angle. Error: degrees outside [-360, 360], interpolation by
/// area.
Augmentation rotate(RotateOptions options = {});

/// Options of affine().
struct AffineOptions {
  Range degrees{0, 0};     ///< of rotation
  double translate_x = 0;  ///< at most this fraction of the width, to either side
  double translate_y = 0;  ///< at most this fraction of the height, to either side
  Range scale{1, 1};       ///< 2 shows things twice as large
  Range shear_x{0, 0};     ///< degrees by which vertical lines lean
  Range shear_y{0, 0};     ///< degrees by which horizontal lines lean
  Interpolation interpolation = Interpolation::linear;  ///< as for rotate
  Border border = Border::constant;                     ///< as for rotate
  double fill = 0;                                      ///< as for rotate
  double mask_fill = 0;                                 ///< as for rotate
  std::string image = "image";                          ///< name of the image among the features
  std::vector<std::string> masks{};                     ///< names of the masks that move along
  BELFRY_FIELDS(degrees, translate_x, translate_y, scale, shear_x, shear_y, interpolation, border,
                fill, mask_fill, image, masks)
};

/// About the middle m, a point p goes to s R X Y (p - m) + m + t: R turns by an angle from
/// `degrees`, X = [[1, tan a], [0, 1]] and Y = [[1, 0], [tan b, 1]] with a from `shear_x` and b
/// from `shear_y`, s is from `scale` and t = (w u, h v) with u in [-translate_x, translate_x) and
/// v in [-translate_y, translate_y) (torchvision rounds t to whole pixels). Error: degrees
/// outside [-360, 360], scale outside [0.05, 1000], shear beyond 89 degrees, translate outside
/// [0, 1], interpolation by area; of a call, corners that come from more than half a million pixels
/// away, as by much shear and a small scale together in large images.
Augmentation affine(AffineOptions options = {});

/// Options of perspective().
struct PerspectiveOptions {
  /// Each corner moves inward by up to half this fraction of width and height. Below 2/3.
  double distortion = 0.5;
  Interpolation interpolation = Interpolation::linear;  ///< as for rotate
  Border border = Border::constant;                     ///< as for rotate
  double fill = 0;                                      ///< as for rotate
  double mask_fill = 0;                                 ///< as for rotate
  std::string image = "image";                          ///< name of the image among the features
  std::vector<std::string> masks{};                     ///< names of the masks that move along
  BELFRY_FIELDS(distortion, interpolation, border, fill, mask_fill, image, masks)
};

/// Seen from another point: each corner of the image moves inward by up to distortion / 2 of the
/// width and of the height, uniformly (torchvision's RandomPerspective, which rounds to pixels).
/// Error: distortion outside [0, 2/3), from where on an image may fold over; interpolation by area.
Augmentation perspective(PerspectiveOptions options = {});

/// Options of elastic().
struct ElasticOptions {
  double alpha = 34;  ///< strength: the smoothed numbers times this are pixels
  double sigma = 4;   ///< of the smoothing, in pixels: large for slow waves
  Interpolation interpolation = Interpolation::linear;  ///< as for rotate
  Border border = Border::reflect;                      ///< as for rotate
  double fill = 0;                                      ///< as for rotate
  double mask_fill = 0;                                 ///< as for rotate
  std::string image = "image";                          ///< name of the image among the features
  std::vector<std::string> masks{};                     ///< names of the masks that move along
  BELFRY_FIELDS(alpha, sigma, interpolation, border, fill, mask_fill, image, masks)
};

/// Elastic deformation: Simard, Steinkraus and Platt, "Best practices for convolutional neural
/// networks applied to visual document analysis", ICDAR 2003, section 2. Each pixel is fetched from
/// a place displaced in x and y by independent numbers, uniform in [-1, 1), smoothed by a Gaussian
/// and multiplied by alpha. The smoothed numbers are not normalised, as in Albumentations; their
/// standard deviation is 0.163 / sigma, so the defaults, which are the paper's, displace by 1.4
/// pixels. (torchvision divides by the size of the image as well.) Error: alpha outside [0, 10000],
/// sigma outside (0, 200], interpolation by area.
Augmentation elastic(ElasticOptions options = {});

}  // namespace belfry::data
