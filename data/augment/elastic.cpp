#include <cmath>
#include <opencv2/core.hpp>
#include <opencv2/imgproc.hpp>

#include "belfry/data/augment/geometry.h"
#include "belfry/data/augment/random.h"
#include "belfry/data/augment/sampling.h"

namespace belfry::data {
namespace {

void check(const ElasticOptions& o) {
  require(o.alpha >= 0 && o.alpha <= 10'000, "alpha must be from 0 to 10000, got ", o.alpha);
  require(o.sigma > 0 && o.sigma <= 200, "sigma must be above 0 and at most 200, got ", o.sigma);
  check_sampling(o);
}

// Where each pixel comes from along one axis.
cv::Mat draw_displacement(const ElasticOptions& o, cv::Size size, PhiloxStream& random) {
  cv::Mat out(size, CV_32F);
  fill_uniform({out.ptr<float>(), out.total()}, -1, 1, random);
  int reach = static_cast<int>(std::ceil(4 * o.sigma));
  cv::GaussianBlur(out, out, cv::Size(2 * reach + 1, 2 * reach + 1), o.sigma, o.sigma,
                   cv::BORDER_REFLECT);
  out *= o.alpha;
  return out;
}

void apply(const ElasticOptions& o, Features& features, PhiloxStream& random) {
  Targets targets(features, o.image, o.masks);
  cv::Size size(targets.width(), targets.height());
  cv::Mat x = draw_displacement(o, size, random);
  cv::Mat y = draw_displacement(o, size, random);
  for (int row = 0; row < size.height; ++row) {
    for (int column = 0; column < size.width; ++column) {
      x.at<float>(row, column) += column;
      y.at<float>(row, column) += row;
    }
  }
  targets.map(targets.height(), targets.width(),
              [&](const cv::Mat& from, cv::Mat& to, PixelKind kind) {
                Sampling how = sampling_for(o, kind);
                cv::remap(from, to, x, y, how.interpolation, how.border, cv::Scalar::all(how.fill));
              });
}

constexpr Definition<ElasticOptions> definition{.name = "elastic", .check = check, .apply = apply};

const Registered registered{definition};

}  // namespace

Augmentation elastic(ElasticOptions options) { return definition(std::move(options)); }

}  // namespace belfry::data
