#pragma once
// How warped images are sampled: the options that rotate, affine, perspective and elastic share.

#include "belfry/data/augment/definition.h"
#include "belfry/data/augment/targets.h"
#include "belfry/framework/base/error.h"

namespace belfry::data {

template <class Options>
void check_sampling(const Options& o) {
  require(o.interpolation != Interpolation::area,
          "interpolation by area is for resizing; use linear, cubic or nearest");
  check_targets(o.image, o.masks);
}

inline void check_degrees(Range degrees) {
  require(degrees.low >= -360 && degrees.high <= 360, "degrees must be from -360 to 360, got [",
          degrees.low, ", ", degrees.high, "]");
}

/// For what has only degrees besides.
template <class Options>
void check_rotation(const Options& o) {
  check_degrees(o.degrees);
  check_sampling(o);
}

/// OpenCV's constants for these.
int cv_border(Border border);
int cv_interpolation(Interpolation interpolation);

struct Sampling {
  int interpolation, border;  ///< OpenCV's constants
  double fill;                ///< of every channel
};

template <class Options>
Sampling sampling_for(const Options& o, PixelKind kind) {
  Interpolation how = kind.mask ? Interpolation::nearest : o.interpolation;
  return {cv_interpolation(how), cv_border(o.border),
          raw_fill(kind, o.border, kind.mask ? o.mask_fill : o.fill)};
}

/// A projective map of the plane, row-major; affine if the last row is 0 0 1.
struct PlaneMap {
  double m[9];
};
/// to(p) = from(out_to_in p). Error: an affine map that fetches a corner of `to` from more than
/// half a million pixels away: beyond, OpenCV's numbers overflow.
void warp(const cv::Mat& from, cv::Mat& to, const PlaneMap& out_to_in, const Sampling& sampling);

}  // namespace belfry::data
