#include <opencv2/core.hpp>

#include "belfry/data/augment/definition.h"
#include "belfry/data/augment/geometry.h"
#include "belfry/data/augment/random.h"
#include "belfry/data/augment/targets.h"

namespace belfry::data {
namespace {

void check(const FlipOptions& o) {
  check_probability(o.probability);
  check_targets(o.image, o.masks);
}

void flip(const FlipOptions& o, Features& features, PhiloxStream& random, int axis) {
  bool flipped = draw_event(o.probability, random);
  Targets targets(features, o.image, o.masks, Elements::any);
  if (!flipped) return;
  targets.map(targets.height(), targets.width(),
              [&](const cv::Mat& from, cv::Mat& to, PixelKind) { cv::flip(from, to, axis); });
}

constexpr Definition<FlipOptions> horizontal{
    .name = "flip_horizontal",
    .check = check,
    .apply = [](const FlipOptions& o, Features& f, PhiloxStream& random) {
      flip(o, f, random, 1);
    }};

constexpr Definition<FlipOptions> vertical{
    .name = "flip_vertical",
    .check = check,
    .apply = [](const FlipOptions& o, Features& f, PhiloxStream& random) {
      flip(o, f, random, 0);
    }};

const Registered registered{horizontal, vertical};

}  // namespace

Augmentation flip_horizontal(FlipOptions options) { return horizontal(std::move(options)); }
Augmentation flip_vertical(FlipOptions options) { return vertical(std::move(options)); }

}  // namespace belfry::data
