#include "belfry/data/augment/crop.h"

#include <opencv2/core.hpp>

#include "belfry/data/augment/random.h"
#include "belfry/data/augment/resizing.h"
#include "belfry/data/augment/sampling.h"

namespace belfry::data {
namespace {

cv::Rect rectangle(std::int64_t top, std::int64_t left, std::int64_t height, std::int64_t width) {
  return cv::Rect(left, top, width, height);
}

void check_crop(const CropOptions& o) {
  check_side("height", o.height);
  check_side("width", o.width);
  check_targets(o.image, o.masks);
}

Targets targets_for(const CropOptions& o, Features& features) {
  Targets targets(features, o.image, o.masks, Elements::any);
  require(o.height <= targets.height() && o.width <= targets.width(), o.height, " x ", o.width,
          " pixels do not fit into feature `", o.image, "`, ", targets.height(), " x ",
          targets.width(), "; resize it before, or use pad_and_crop");
  return targets;
}

void cut(const CropOptions& o, Targets& targets, std::int64_t top, std::int64_t left) {
  cv::Rect part = rectangle(top, left, o.height, o.width);
  targets.map(o.height, o.width,
              [&](const cv::Mat& from, cv::Mat& to, PixelKind) { from(part).copyTo(to); });
}

void apply_crop(const CropOptions& o, Features& features, PhiloxStream& random) {
  Targets targets = targets_for(o, features);
  std::int64_t top = draw_below(targets.height() - o.height + 1, random);
  std::int64_t left = draw_below(targets.width() - o.width + 1, random);
  cut(o, targets, top, left);
}

void apply_center_crop(const CropOptions& o, Features& features, PhiloxStream&) {
  Targets targets = targets_for(o, features);
  cut(o, targets, (targets.height() - o.height) / 2, (targets.width() - o.width) / 2);
}

constexpr Definition<CropOptions> crop_definition{
    .name = "crop", .check = check_crop, .apply = apply_crop};

constexpr Definition<CropOptions> center_crop_definition{
    .name = "center_crop", .check = check_crop, .apply = apply_center_crop};

void check_pad_and_crop(const PadAndCropOptions& o) {
  require(o.padding >= 0 && o.padding <= 1024, "padding must be from 0 to 1024, got ", o.padding);
  check_targets(o.image, o.masks);
}

void apply_pad_and_crop(const PadAndCropOptions& o, Features& features, PhiloxStream& random) {
  std::int64_t top = draw_below(2 * o.padding + 1, random);
  std::int64_t left = draw_below(2 * o.padding + 1, random);
  Targets targets(features, o.image, o.masks, Elements::any);
  cv::Rect part = rectangle(top, left, targets.height(), targets.width());
  int p = o.padding;
  targets.map(
      targets.height(), targets.width(), [&](const cv::Mat& from, cv::Mat& to, PixelKind kind) {
        auto fill = cv::Scalar::all(raw_fill(kind, o.border, kind.mask ? o.mask_fill : o.fill));
        cv::Mat padded;
        cv::copyMakeBorder(from, padded, p, p, p, p, cv_border(o.border), fill);
        padded(part).copyTo(to);
      });
}

constexpr Definition<PadAndCropOptions> pad_and_crop_definition{
    .name = "pad_and_crop", .check = check_pad_and_crop, .apply = apply_pad_and_crop};

void check_random_resized_crop(const RandomResizedCropOptions& o) {
  check_side("height", o.height);
  check_side("width", o.width);
  check_resized_crop(o.scale, o.ratio);
  check_targets(o.image, o.masks);
}

void apply_random_resized_crop(const RandomResizedCropOptions& o, Features& features,
                               PhiloxStream& random) {
  Targets targets(features, o.image, o.masks);
  Rectangle r = draw_rectangle(targets.height(), targets.width(), o.scale, o.ratio, random);
  cv::Rect part = rectangle(r.top, r.left, r.height, r.width);
  targets.map(o.height, o.width, [&](const cv::Mat& from, cv::Mat& to, PixelKind kind) {
    Interpolation how = kind.mask ? Interpolation::nearest : o.interpolation;
    resize_pixels(from(part), to, how, o.antialias);
  });
}

constexpr Definition<RandomResizedCropOptions> random_resized_crop_definition{
    .name = "random_resized_crop",
    .check = check_random_resized_crop,
    .apply = apply_random_resized_crop};

const Registered registered{crop_definition, center_crop_definition, pad_and_crop_definition,
                            random_resized_crop_definition};

}  // namespace

Augmentation crop(CropOptions options) { return crop_definition(std::move(options)); }
Augmentation center_crop(CropOptions options) { return center_crop_definition(std::move(options)); }
Augmentation pad_and_crop(PadAndCropOptions options) {
  return pad_and_crop_definition(std::move(options));
}
Augmentation random_resized_crop(RandomResizedCropOptions options) {
  return random_resized_crop_definition(std::move(options));
}

}  // namespace belfry::data
