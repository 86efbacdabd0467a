#include <cmath>
#include <numbers>
#include <opencv2/core.hpp>
#include <opencv2/imgproc.hpp>

#include "belfry/data/augment/geometry.h"
#include "belfry/data/augment/random.h"
#include "belfry/data/augment/sampling.h"

namespace belfry::data {
namespace {

double radians(double degrees) { return degrees * std::numbers::pi / 180; }

// The inverse of p -> A (p - m) + m + t about the middle m of the image.
PlaneMap inverse_about_middle(const double (&a)[2][2], double tx, double ty, const Targets& image) {
  double mx = static_cast<double>(image.width() - 1) / 2;
  double my = static_cast<double>(image.height() - 1) / 2;
  double determinant = a[0][0] * a[1][1] - a[0][1] * a[1][0];
  double ix = a[1][1] / determinant, iy = -a[0][1] / determinant;
  double jx = -a[1][0] / determinant, jy = a[0][0] / determinant;
  double px = mx + tx, py = my + ty;
  return {{ix, iy, mx - ix * px - iy * py, jx, jy, my - jx * px - jy * py, 0, 0, 1}};
}

template <class Options>
void warp_all(const Options& o, Targets& targets, const PlaneMap& out_to_in) {
  targets.map(targets.height(), targets.width(),
              [&](const cv::Mat& from, cv::Mat& to, PixelKind kind) {
                warp(from, to, out_to_in, sampling_for(o, kind));
              });
}

// ---- rotate

void apply_rotate(const RotateOptions& o, Features& features, PhiloxStream& random) {
  double angle = radians(draw(o.degrees, random));
  Targets targets(features, o.image, o.masks);
  double c = std::cos(angle), s = std::sin(angle);
  warp_all(o, targets, inverse_about_middle({{c, s}, {-s, c}}, 0, 0, targets));
}

constexpr Definition<RotateOptions> rotate_definition{
    .name = "rotate", .check = check_rotation<RotateOptions>, .apply = apply_rotate};

// ---- affine

void check_affine(const AffineOptions& o) {
  check_degrees(o.degrees);
  require(o.scale.low >= 0.05 && o.scale.high <= 1e3, "scale must be from 0.05 to 1000, got [",
          o.scale.low, ", ", o.scale.high, "]");
  for (Range shear : {o.shear_x, o.shear_y})
    require(shear.low >= -89 && shear.high <= 89, "shear must be from -89 to 89 degrees, got [",
            shear.low, ", ", shear.high, "]");
  for (double translate : {o.translate_x, o.translate_y})
    require(translate >= 0 && translate <= 1,
            "translate is a fraction of the size from 0 to 1, got ", translate);
  check_sampling(o);
}

struct AffineDraw {
  double angle, shear_x, shear_y, scale;  // radians; factor
  double translate_x, translate_y;        // fractions of the size
};

AffineDraw draw_affine(const AffineOptions& o, PhiloxStream& random) {
  AffineDraw d{};
  d.angle = radians(draw(o.degrees, random));
  d.translate_x = draw(Range{-o.translate_x, o.translate_x}, random);
  d.translate_y = draw(Range{-o.translate_y, o.translate_y}, random);
  d.scale = draw(o.scale, random);
  d.shear_x = radians(draw(o.shear_x, random));
  d.shear_y = radians(draw(o.shear_y, random));
  return d;
}

void apply_affine(const AffineOptions& o, Features& features, PhiloxStream& random) {
  AffineDraw d = draw_affine(o, random);
  Targets targets(features, o.image, o.masks);
  double c = d.scale * std::cos(d.angle), s = d.scale * std::sin(d.angle);
  double x = std::tan(d.shear_x), y = std::tan(d.shear_y);
  // [[c, s], [-s, c]] [[1, x], [0, 1]] [[1, 0], [y, 1]]
  double a[2][2] = {{c + (c * x + s) * y, c * x + s}, {-s + (c - s * x) * y, c - s * x}};
  warp_all(o, targets,
           inverse_about_middle(a, d.translate_x * targets.width(),
                                d.translate_y * targets.height(), targets));
}

constexpr Definition<AffineOptions> affine_definition{
    .name = "affine", .check = check_affine, .apply = apply_affine};

// ---- perspective

void check_perspective(const PerspectiveOptions& o) {
  require(o.distortion >= 0 && o.distortion < 2.0 / 3,
          "distortion must be at least 0 and below 2/3, got ", o.distortion);
  check_sampling(o);
}

// How far each corner moves inward, as fractions of width and height.
struct Corners {
  cv::Point2d top_left, top_right, bottom_right, bottom_left;
};

Corners draw_corners(const PerspectiveOptions& o, PhiloxStream& random) {
  Corners out;
  for (cv::Point2d* corner : {&out.top_left, &out.top_right, &out.bottom_right, &out.bottom_left}) {
    corner->x = draw(Range{0, o.distortion / 2}, random);
    corner->y = draw(Range{0, o.distortion / 2}, random);
  }
  return out;
}

void apply_perspective(const PerspectiveOptions& o, Features& features, PhiloxStream& random) {
  Corners c = draw_corners(o, random);
  Targets targets(features, o.image, o.masks);
  double w = targets.width(), h = targets.height();
  // The corners of the image's area, not the centres of its corner pixels: those of an image one
  // pixel wide coincide.
  auto point = [&](double x, double y) {
    return cv::Point2f(static_cast<float>(x * w - 0.5), static_cast<float>(y * h - 0.5));
  };
  cv::Point2f from[]{point(0, 0), point(1, 0), point(1, 1), point(0, 1)};
  cv::Point2f to[]{point(c.top_left.x, c.top_left.y), point(1 - c.top_right.x, c.top_right.y),
                   point(1 - c.bottom_right.x, 1 - c.bottom_right.y),
                   point(c.bottom_left.x, 1 - c.bottom_left.y)};
  cv::Mat matrix = cv::getPerspectiveTransform(to, from);
  PlaneMap out_to_in{};
  std::copy_n(matrix.ptr<double>(), 9, out_to_in.m);
  warp_all(o, targets, out_to_in);
}

constexpr Definition<PerspectiveOptions> perspective_definition{
    .name = "perspective", .check = check_perspective, .apply = apply_perspective};

const Registered registered{rotate_definition, affine_definition, perspective_definition};

// warpAffine adds up two parts of a coordinate, m[0] x and m[1] y + m[2], in units of 1/1024 pixel,
// as numbers of 32 bits. If no corner is farther than this, neither part is beyond 2^20.
void check_reach(const double* m, cv::Size size) {
  constexpr double farthest = 500'000;
  for (int x : {0, size.width - 1})
    for (int y : {0, size.height - 1}) {
      double from = m[0] * x + m[1] * y + m[2];
      require(std::abs(from) <= farthest, "a corner of an image of ", size.height, " x ",
              size.width, " would be fetched from ", std::llround(std::abs(from)),
              " pixels away, expected at most ", std::llround(farthest),
              "; use a larger scale, less shear, or smaller images");
    }
}

}  // namespace

int cv_border(Border border) {
  switch (border) {
    case Border::edge:
      return cv::BORDER_REPLICATE;
    case Border::reflect:
      return cv::BORDER_REFLECT_101;
    case Border::symmetric:
      return cv::BORDER_REFLECT;
    default:
      return cv::BORDER_CONSTANT;
  }
}

int cv_interpolation(Interpolation interpolation) {
  switch (interpolation) {
    case Interpolation::nearest:
      return cv::INTER_NEAREST;
    case Interpolation::cubic:
      return cv::INTER_CUBIC;
    case Interpolation::area:
      return cv::INTER_AREA;
    default:
      return cv::INTER_LINEAR;
  }
}

void warp(const cv::Mat& from, cv::Mat& to, const PlaneMap& out_to_in, const Sampling& sampling) {
  const double* m = out_to_in.m;
  cv::Mat matrix(3, 3, CV_64F, const_cast<double*>(m));
  auto fill = cv::Scalar::all(sampling.fill);
  int flags = sampling.interpolation | cv::WARP_INVERSE_MAP;
  if (m[6] == 0 && m[7] == 0 && m[8] == 1) {
    check_reach(m, to.size());
    check_reach(m + 3, to.size());
    cv::warpAffine(from, to, matrix.rowRange(0, 2), to.size(), flags, sampling.border, fill);
  } else {
    cv::warpPerspective(from, to, matrix, to.size(), flags, sampling.border, fill);
  }
}

Augmentation rotate(RotateOptions options) { return rotate_definition(std::move(options)); }
Augmentation affine(AffineOptions options) { return affine_definition(std::move(options)); }
Augmentation perspective(PerspectiveOptions options) {
  return perspective_definition(std::move(options));
}

}  // namespace belfry::data
