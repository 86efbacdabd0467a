#pragma once
// Resizing one image; for the augmentations that do.

#include "belfry/data/augment/definition.h"
#include "belfry/data/augment/resized_crop.h"
#include "belfry/data/augment/targets.h"
#include "belfry/framework/base/error.h"

namespace belfry::data {

/// Fills `to` with all of `from`.
void resize_pixels(const cv::Mat& from, cv::Mat& to, Interpolation interpolation, bool antialias);

/// Image and masks resized to height x width.
template <class Options>
void resize_all(const Options& o, Targets& targets, std::int64_t height, std::int64_t width) {
  targets.map(height, width, [&](const cv::Mat& from, cv::Mat& to, PixelKind kind) {
    resize_pixels(from, to, kind.mask ? Interpolation::nearest : o.interpolation, o.antialias);
  });
}

/// Error unless `scale` is within (0, 1] and `ratio` within [0.001, 1000], low at most high.
void check_resized_crop(Range scale, Range ratio);

/// The part of an image of height x width pixels that random_resized_crop() describes.
Rectangle draw_rectangle(std::int64_t height, std::int64_t width, Range scale, Range ratio,
                         PhiloxStream& random);

}  // namespace belfry::data
