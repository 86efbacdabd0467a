#include <opencv2/core.hpp>

#include "belfry/data/augment/colors/adjust.h"
#include "belfry/data/augment/corruption.h"
#include "belfry/data/augment/definition.h"
#include "belfry/data/augment/mat.h"
#include "belfry/data/augment/random.h"
#include "belfry/data/augment/targets.h"
#include "belfry/data/formats/images/image.h"
#include "belfry/data/formats/images/jpeg.h"
#include "belfry/framework/base/error.h"

namespace belfry::data {
namespace {

void send_through_jpeg(Array& pixels, int quality) {
  const JpegOptions as_stored{.channels = 0, .pixel_limit = pixels.elements()};
  decode_jpeg(encode_jpeg(pixels, {.quality = quality}), as_stored, pixels);
}

void apply(const JpegArtefactsOptions& o, Features& features, PhiloxStream& random) {
  int quality = draw(o.quality, random);
  Array& image = writable_image(features, o.image);
  check_color(image);
  if (image.dtype() == DType::u8) return send_through_jpeg(image, quality);
  Array bytes(image.shape(), DType::u8);
  cv::Mat floats = view(image), rounded = view(bytes);
  floats.convertTo(rounded, CV_8U, 255);
  send_through_jpeg(bytes, quality);
  view(bytes).convertTo(floats, CV_32F, 1.0 / 255);
}

constexpr Definition<JpegArtefactsOptions> definition{
    .name = "jpeg_artefacts",
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
