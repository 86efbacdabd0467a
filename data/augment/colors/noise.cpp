#include "belfry/data/augment/corruption.h"
#include "belfry/data/augment/definition.h"
#include "belfry/data/augment/pixels.h"
#include "belfry/data/augment/random.h"
#include "belfry/data/augment/targets.h"
#include "belfry/framework/base/error.h"

namespace belfry::data {
namespace {

void apply(const GaussianNoiseOptions& o, Features& features, PhiloxStream& random) {
  auto deviation = static_cast<float>(draw(o.deviation, random));
  Array& image = writable_image(features, o.image);
  std::vector<float> noise(image.elements());
  fill_normal(noise, random);
  const float* n = noise.data();
  if (image.dtype() == DType::u8) {
    for (std::uint8_t& x : image.span<std::uint8_t>())
      x = to_pixel<std::uint8_t>(x + 255 * deviation * *n++);
  } else {
    for (float& x : image.span<float>()) x += deviation * *n++;
    if (o.clip)
      for (float& x : image.span<float>()) x = to_pixel<float>(x);
  }
}

constexpr Definition<GaussianNoiseOptions> definition{
    .name = "gaussian_noise",
    .check =
        [](const GaussianNoiseOptions& o) {
          require(o.deviation.low >= 0 && o.deviation.high <= 10,
                  "deviation must be from 0 to 10, got [", o.deviation.low, ", ", o.deviation.high,
                  "]");
        },
    .apply = apply};

const Registered registered{definition};

}  // namespace

Augmentation gaussian_noise(GaussianNoiseOptions options) { return definition(std::move(options)); }

}  // namespace belfry::data
