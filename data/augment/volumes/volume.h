#pragma once
// Augmentations of volumes: images [d, h, w, c], u8 or f32 (flip3d and rotate90 take any element
// type), with masks [d, h, w] or [d, h, w, c] of any element type that move along, as Augmentation
// says for images.

#include "belfry/data/augment/augmentation.h"
#include "belfry/data/augment/options.h"
#include "belfry/framework/base/fields.h"

namespace belfry::data {

/// An axis of a volume; what turns about it is the plane of the other two.
enum class VolumeAxis { depth, height, width };
constexpr auto names_of(VolumeAxis) { return name_list("depth", "height", "width"); }

/// Options of flip3d().
struct Flip3dOptions {
  double depth = 0.5;                ///< probability that this axis is reversed; each by itself
  double height = 0.5;               ///< likewise
  double width = 0.5;                ///< likewise
  std::string image = "image";       ///< name of the volume among the features
  std::vector<std::string> masks{};  ///< names of the masks that move along
  BELFRY_FIELDS(depth, height, width, image, masks)
};

/// Each axis reversed with its probability.
Augmentation flip3d(Flip3dOptions options = {});

/// Options of rotate90().
struct Rotate90Options {
  VolumeAxis axis = VolumeAxis::depth;  ///< the axis of the turns
  std::string image = "image";          ///< name of the volume or image
  std::vector<std::string> masks{};     ///< names of the masks that move along
  BELFRY_FIELDS(axis, image, masks)
};

/// 0 to 3 quarter turns about an axis, all equally likely, without interpolation: numpy.rot90(x, k,
/// axes) with the other two axes in order, which about the depth is counter-clockwise as seen. If
/// the plane is not square, 0 or 2 quarter turns, so that the shape stays. About the depth the
/// image may also be [h, w, c].
Augmentation rotate90(Rotate90Options options = {});

/// Options of rotate3d().
struct Rotate3dOptions {
  Range degrees{-10, 10};                               ///< as for rotate
  VolumeAxis axis = VolumeAxis::depth;                  ///< the axis of the turn
  Interpolation interpolation = Interpolation::linear;  ///< within the plane
  Border border = Border::constant;                     ///< beyond the plane, as for rotate
  double fill = 0;                   ///< in the image's own numbers, as for rotate
  double mask_fill = 0;              ///< as for rotate
  std::string image = "image";       ///< name of the volume among the features
  std::vector<std::string> masks{};  ///< names of the masks that move along
  BELFRY_FIELDS(degrees, axis, interpolation, border, fill, mask_fill, image, masks)
};

/// Turned about an axis by a random angle, the same for all planes: rotate() of each, with the same
/// sense as rotate90. Error: as rotate().
Augmentation rotate3d(Rotate3dOptions options = {});

/// Options of elastic3d().
struct Elastic3dOptions {
  double alpha = 60;                 ///< strength: the smoothed numbers times this are voxels
  double sigma = 4;                  ///< of the smoothing, in voxels
  std::string image = "image";       ///< name of the volume among the features
  std::vector<std::string> masks{};  ///< names of the masks that move along
  BELFRY_FIELDS(alpha, sigma, image, masks)
};

/// elastic() in three dimensions: displacements along depth, height and width, smoothed in all
/// three; values between voxels are linear in each axis, and beyond the border the nearest voxel
/// counts. The smoothed numbers' standard deviation is 0.0865 / sigma^1.5, so the defaults displace
/// by 0.65 voxels. Error: alpha outside [0, 10000], sigma outside (0, 50].
Augmentation elastic3d(Elastic3dOptions options = {});

}  // namespace belfry::data
