#include "belfry/data/augment/volumes/volume.h"

#include <cmath>
#include <numbers>
#include <opencv2/core.hpp>

#include "belfry/data/augment/definition.h"
#include "belfry/data/augment/random.h"
#include "belfry/data/augment/sampling.h"
#include "belfry/data/augment/volumes/volume_targets.h"
#include "belfry/framework/base/error.h"

namespace belfry::data {
namespace {

constexpr std::array<int, 3> unmoved{0, 1, 2};

// ---- flip3d

void check_flip(const Flip3dOptions& o) {
  for (double probability : {o.depth, o.height, o.width}) check_probability(probability);
  check_targets(o.image, o.masks);
}

void apply_flip(const Flip3dOptions& o, Features& features, PhiloxStream& random) {
  std::array<bool, 3> reversed{};
  reversed[0] = draw_event(o.depth, random);
  reversed[1] = draw_event(o.height, random);
  reversed[2] = draw_event(o.width, random);
  VolumeTargets targets(features, o.image, o.masks, Elements::any);
  if (!reversed[0] && !reversed[1] && !reversed[2]) return;
  targets.map([&](const Array& from, PixelKind) { return rearranged(from, unmoved, reversed); });
}

constexpr Definition<Flip3dOptions> flip3d_definition{
    .name = "flip3d", .check = check_flip, .apply = apply_flip};

// ---- rotate90

// numpy.rot90(from, turns, (a, b)): a quarter turn takes the result's index (i, j) from
// (j, n_b - 1 - i).
Array turned(const Array& from, std::size_t a, std::size_t b, std::uint64_t turns) {
  std::array<int, 3> source = unmoved;
  std::array<bool, 3> reversed{};
  if (turns % 2 == 1) std::swap(source[a], source[b]);
  reversed[a] = turns == 1 || turns == 2;
  reversed[b] = turns == 2 || turns == 3;
  return rearranged(from, source, reversed);
}

void apply_rotate90(const Rotate90Options& o, Features& features, PhiloxStream& random) {
  std::uint64_t turns = random.below(4);
  bool flat_too = o.axis == VolumeAxis::depth;
  VolumeTargets targets(features, o.image, o.masks, Elements::any, flat_too);
  std::size_t a = o.axis == VolumeAxis::depth ? 1 : 0, b = o.axis == VolumeAxis::width ? 1 : 2;
  bool square = targets.size(a) == targets.size(b);
  if (!square) turns &= 2;
  if (turns == 0) return;
  targets.map([&](const Array& from, PixelKind) { return turned(from, a, b, turns); });
}

constexpr Definition<Rotate90Options> rotate90_definition{
    .name = "rotate90",
    .check = [](const Rotate90Options& o) { check_targets(o.image, o.masks); },
    .apply = apply_rotate90};

// ---- rotate3d

// Each slice of `from` [n, h, w, c] turned about its middle.
Array turn_slices(Array from, double angle, const Sampling& how, PixelKind kind) {
  Array out(from.type());
  for (std::int64_t i = 0; i < from.shape()[0]; ++i) {
    Array source = from.row(i), target = out.row(i);
    cv::Mat to = raw_view(target);
    double c = std::cos(angle), s = std::sin(angle);
    double mx = (to.cols - 1) / 2.0, my = (to.rows - 1) / 2.0;
    PlaneMap out_to_in{{c, -s, mx - c * mx + s * my, s, c, my - s * mx - c * my, 0, 0, 1}};
    map_channels(raw_view(source), to, kind,
                 [&](const cv::Mat& a, cv::Mat& b, PixelKind) { warp(a, b, out_to_in, how); });
  }
  return out;
}

void apply_rotate3d(const Rotate3dOptions& o, Features& features, PhiloxStream& random) {
  double angle = draw(o.degrees, random) * std::numbers::pi / 180;
  VolumeTargets targets(features, o.image, o.masks);
  // The axis goes to the front, so that the planes are slices, and back again.
  constexpr std::array<int, 3> to_front[]{{0, 1, 2}, {1, 0, 2}, {2, 0, 1}};
  constexpr std::array<int, 3> from_front[]{{0, 1, 2}, {1, 0, 2}, {1, 2, 0}};
  auto axis = static_cast<std::size_t>(o.axis);
  targets.map([&](const Array& from, PixelKind kind) {
    Sampling how = sampling_for(o, kind);
    if (axis == 0) return turn_slices(from, angle, how, kind);
    Array slices = rearranged(from, to_front[axis], {});
    return rearranged(turn_slices(slices, angle, how, kind), from_front[axis], {});
  });
}

constexpr Definition<Rotate3dOptions> rotate3d_definition{
    .name = "rotate3d", .check = check_rotation<Rotate3dOptions>, .apply = apply_rotate3d};

const Registered registered{flip3d_definition, rotate90_definition, rotate3d_definition};

}  // namespace

Augmentation flip3d(Flip3dOptions options) { return flip3d_definition(std::move(options)); }
Augmentation rotate90(Rotate90Options options) { return rotate90_definition(std::move(options)); }
Augmentation rotate3d(Rotate3dOptions options) { return rotate3d_definition(std::move(options)); }

}  // namespace belfry::data
