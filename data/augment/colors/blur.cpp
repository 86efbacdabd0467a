#include <cmath>
#include <opencv2/imgproc.hpp>

#include "belfry/data/augment/corruption.h"
#include "belfry/data/augment/definition.h"
#include "belfry/data/augment/random.h"
#include "belfry/data/augment/targets.h"
#include "belfry/framework/base/error.h"

namespace belfry::data {
namespace {

void apply(const GaussianBlurOptions& o, Features& features, PhiloxStream& random) {
  double sigma = draw(o.sigma, random);
  int side = 2 * static_cast<int>(std::ceil(3 * sigma)) + 1;
  Targets targets(features, o.image, {});
  targets.map(targets.height(), targets.width(), [&](const cv::Mat& from, cv::Mat& to, PixelKind) {
    // In bytes OpenCV rounds the weights to 1/256, which of a wide Gaussian leaves little.
    cv::Mat work;
    from.convertTo(work, CV_32F);
    cv::GaussianBlur(work, work, {side, side}, sigma, sigma, cv::BORDER_REFLECT_101);
    work.convertTo(to, to.depth());
  });
}

constexpr Definition<GaussianBlurOptions> definition{
    .name = "gaussian_blur",
    .check =
        [](const GaussianBlurOptions& o) {
          require(o.sigma.low > 0 && o.sigma.high <= 100,
                  "sigma must be above 0 and at most 100, got [", o.sigma.low, ", ", o.sigma.high,
                  "]");
        },
    .apply = apply};

const Registered registered{definition};

}  // namespace

Augmentation gaussian_blur(GaussianBlurOptions options) { return definition(std::move(options)); }

}  // namespace belfry::data
