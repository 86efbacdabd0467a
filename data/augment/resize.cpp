#include <algorithm>
#include <opencv2/core.hpp>
#include <opencv2/imgproc.hpp>

#include "belfry/data/augment/crop.h"
#include "belfry/data/augment/resizing.h"
#include "belfry/data/augment/sampling.h"

namespace belfry::data {
namespace {

void check_resize(const ResizeImageOptions& o) {
  check_side("height", o.height);
  check_side("width", o.width);
  check_targets(o.image, o.masks);
}

constexpr Definition<ResizeImageOptions> resize_definition{
    .name = "resize",
    .check = check_resize,
    .apply = [](const ResizeImageOptions& o, Features& features, PhiloxStream&) {
      Targets targets(features, o.image, o.masks);
      resize_all(o, targets, o.height, o.width);
    }};

void apply_short_side(const ResizeShortSideOptions& o, Features& features, PhiloxStream&) {
  Targets targets(features, o.image, o.masks);
  std::int64_t shorter = std::min(targets.height(), targets.width());
  std::int64_t height = targets.height() * o.size / shorter;
  std::int64_t width = targets.width() * o.size / shorter;
  check_side("the longer side", std::max(height, width));
  resize_all(o, targets, height, width);
}

constexpr Definition<ResizeShortSideOptions> short_side_definition{
    .name = "resize_short_side",
    .check =
        [](const ResizeShortSideOptions& o) {
          check_side("size", o.size);
          check_targets(o.image, o.masks);
        },
    .apply = apply_short_side};

void check_multi_scale(const MultiScaleOptions& o) {
  require(!o.sizes.empty(), "sizes must be given");
  for (std::int64_t size : o.sizes) check_side("each of sizes", size);
  check_targets(o.image, o.masks);
}

void apply_multi_scale(const MultiScaleOptions& o, Features& features, PhiloxStream& random) {
  std::int64_t size = o.sizes[random.below(o.sizes.size())];
  Targets targets(features, o.image, o.masks);
  resize_all(o, targets, size, size);
}

constexpr Definition<MultiScaleOptions> multi_scale_definition{
    .name = "multi_scale", .check = check_multi_scale, .apply = apply_multi_scale};

const Registered registered{resize_definition, short_side_definition, multi_scale_definition};

}  // namespace

void resize_pixels(const cv::Mat& from, cv::Mat& to, Interpolation interpolation, bool antialias) {
  cv::Size old = from.size(), wanted = to.size();
  if (old == wanted) return from.copyTo(to);
  if (interpolation == Interpolation::nearest)
    return cv::resize(from, to, wanted, 0, 0, cv::INTER_NEAREST_EXACT);
  int growing = cv_interpolation(interpolation);
  bool blends = interpolation != Interpolation::area;
  if (blends && !antialias) return cv::resize(from, to, wanted, 0, 0, growing);
  // Shrink first: fewer pixels are left for the second step. OpenCV's own area interpolation takes
  // means only where both axes shrink.
  cv::Size smaller(std::min(old.width, wanted.width), std::min(old.height, wanted.height));
  if (smaller == wanted) return cv::resize(from, to, wanted, 0, 0, cv::INTER_AREA);
  if (smaller == old) return cv::resize(from, to, wanted, 0, 0, growing);
  cv::Mat shrunk;
  cv::resize(from, shrunk, smaller, 0, 0, cv::INTER_AREA);
  cv::resize(shrunk, to, wanted, 0, 0, growing);
}

Augmentation resize(ResizeImageOptions options) { return resize_definition(std::move(options)); }
Augmentation resize_short_side(ResizeShortSideOptions options) {
  return short_side_definition(std::move(options));
}
Augmentation multi_scale(MultiScaleOptions options) {
  return multi_scale_definition(std::move(options));
}

}  // namespace belfry::data
