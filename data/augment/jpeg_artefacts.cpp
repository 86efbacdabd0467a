#include <opencv2/imgcodecs.hpp>
#include <opencv2/imgproc.hpp>

#include "belfry/data/augment/adjust.h"
#include "belfry/data/augment/corruption.h"
#include "belfry/data/augment/definition.h"
#include "belfry/data/augment/mat.h"
#include "belfry/data/augment/random.h"
#include "belfry/data/augment/targets.h"
#include "belfry/framework/base/error.h"

namespace belfry::data {
namespace {

// u8 pixels, one channel or three in the order blue, green, red.
cv::Mat through_jpeg(const cv::Mat& pixels, int quality) {
  std::vector<unsigned char> file;
  bool written = cv::imencode(".jpg", pixels, file, {cv::IMWRITE_JPEG_QUALITY, quality});
  ensure(written, "OpenCV could not encode a JPEG of ", pixels.rows, " x ", pixels.cols);
  int form = pixels.channels() == 1 ? cv::IMREAD_GRAYSCALE : cv::IMREAD_COLOR;
  cv::Mat out = cv::imdecode(file, form | cv::IMREAD_IGNORE_ORIENTATION);
  ensure(out.size() == pixels.size() && out.type() == pixels.type(),
         "OpenCV could not decode its own JPEG of ", pixels.rows, " x ", pixels.cols);
  return out;
}

void apply(const JpegArtefactsOptions& o, Features& features, PhiloxStream& random) {
  auto quality = static_cast<int>(draw(o.quality, random));
  Array& image = writable_image(features, o.image);
  check_color(image);
  bool bytes = image.dtype() == DType::u8;
  cv::Mat pixels = view(image), work;
  pixels.convertTo(work, CV_8U, bytes ? 1 : 255);
  if (work.channels() == 3) cv::cvtColor(work, work, cv::COLOR_RGB2BGR);
  work = through_jpeg(work, quality);
  if (work.channels() == 3) cv::cvtColor(work, work, cv::COLOR_BGR2RGB);
  work.convertTo(pixels, pixels.depth(), bytes ? 1 : 1.0 / 255);
}

constexpr Definition<JpegArtefactsOptions> definition{
    .name = "jpeg_artefacts",
    .fields =
        [](OptionFields& f, JpegArtefactsOptions& o) {
          f.field("quality", o.quality);
          f.field("image", o.image);
        },
    .check =
        [](const JpegArtefactsOptions& o) {
          require(o.quality.low >= 1 && o.quality.high <= 100,
                  "quality must be from 1 to 100, got [", o.quality.low, ", ", o.quality.high, "]");
        },
    .apply = apply};

const Registered registered{definition};

}  // namespace

Augmentation jpeg_artefacts(JpegArtefactsOptions options) { return definition(std::move(options)); }

}  // namespace belfry::data
