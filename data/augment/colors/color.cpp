#include "belfry/data/augment/colors/color.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "belfry/data/augment/colors/adjust.h"
#include "belfry/data/augment/definition.h"
#include "belfry/data/augment/pixels.h"
#include "belfry/data/augment/random.h"
#include "belfry/data/augment/targets.h"
#include "belfry/framework/base/error.h"

namespace belfry::data {
namespace {

void check_factor(const FactorOptions& o) {
  require(o.factor.low >= 0 && o.factor.high <= 1e6, "factor must be from 0 to 1e6, got [",
          o.factor.low, ", ", o.factor.high, "]");
}

template <void (*adjust)(Array&, double)>
void apply_factor(const FactorOptions& o, Features& features, PhiloxStream& random) {
  double factor = draw(o.factor, random);
  adjust(writable_image(features, o.image), factor);
}

constexpr Definition<FactorOptions> brightness_definition{
    .name = "brightness", .check = check_factor, .apply = apply_factor<adjust_brightness>};

constexpr Definition<FactorOptions> contrast_definition{
    .name = "contrast", .check = check_factor, .apply = apply_factor<adjust_contrast>};

constexpr Definition<FactorOptions> saturation_definition{
    .name = "saturation", .check = check_factor, .apply = apply_factor<adjust_saturation>};

constexpr Definition<HueOptions> hue_definition{
    .name = "hue",
    .check =
        [](const HueOptions& o) {
          require(o.shift.low >= -0.5 && o.shift.high <= 0.5,
                  "shift must be from -0.5 to 0.5, got [", o.shift.low, ", ", o.shift.high, "]");
        },
    .apply =
        [](const HueOptions& o, Features& features, PhiloxStream& random) {
          double turns = draw(o.shift, random);
          adjust_hue(writable_image(features, o.image), turns);
        }};

// ---- color_jitter

void check_jitter(const ColorJitterOptions& o) {
  for (double amount : {o.brightness, o.contrast, o.saturation})
    require(amount >= 0 && amount <= 1e6,
            "brightness, contrast and saturation must be from 0 to 1e6, got ", amount);
  require(o.hue >= 0 && o.hue <= 0.5, "hue must be from 0 to 0.5, got ", o.hue);
}

struct JitterDraw {
  double brightness, contrast, saturation, hue;
  std::vector<std::int64_t> order;
};

JitterDraw draw_jitter(const ColorJitterOptions& o, PhiloxStream& random) {
  auto factor = [&](double amount) {
    double drawn = draw(Range{std::max(0.0, 1 - amount), 1 + amount}, random);
    return amount == 0 ? 1 : drawn;
  };
  JitterDraw d{};
  d.brightness = factor(o.brightness);
  d.contrast = factor(o.contrast);
  d.saturation = factor(o.saturation);
  d.hue = draw(Range{-o.hue, o.hue}, random);
  d.order = draw_permutation(4, random);
  return d;
}

void apply_jitter(const ColorJitterOptions& o, Features& features, PhiloxStream& random) {
  JitterDraw d = draw_jitter(o, random);
  Array& image = writable_image(features, o.image);
  check_color(image);
  for (std::int64_t step : d.order) {
    if (step == 0) adjust_brightness(image, d.brightness);
    if (step == 1) adjust_contrast(image, d.contrast);
    if (step == 2) adjust_saturation(image, d.saturation);
    if (step == 3) adjust_hue(image, d.hue);
  }
}

constexpr Definition<ColorJitterOptions> color_jitter_definition{
    .name = "color_jitter", .check = check_jitter, .apply = apply_jitter};

// ---- grayscale

void check_grayscale(const GrayscaleOptions& o) {
  check_probability(o.probability);
  require(o.channels == 1 || o.channels == 3, "channels must be 1 or 3, got ", o.channels);
  require(o.channels == 3 || o.probability == 1, "with channels = 1 probability must be 1, got ",
          o.probability, "; images would differ in shape");
}

void apply_grayscale(const GrayscaleOptions& o, Features& features, PhiloxStream& random) {
  bool wanted = draw_event(o.probability, random);
  Array& image = image_at(features, o.image);
  check_color(image);
  if (!wanted || image.shape()[2] == 1) return;
  if (o.channels == 3) {
    make_exclusive(image);
    return for_pixels(image, []<class T>(T* p) { p[0] = p[1] = p[2] = to_pixel<T>(gray_of(p)); });
  }
  Array gray(image.shape().with(2, 1), image.dtype());
  auto fill = [&]<class T>(std::span<T> out) {
    const T* p = std::as_const(image).span<T>().data();
    for (T& value : out) value = to_pixel<T>(gray_of(p)), p += 3;
  };
  image.dtype() == DType::u8 ? fill(gray.span<std::uint8_t>()) : fill(gray.span<float>());
  image = std::move(gray);
}

constexpr Definition<GrayscaleOptions> grayscale_definition{
    .name = "grayscale", .check = check_grayscale, .apply = apply_grayscale};

const Registered registered{brightness_definition, contrast_definition,     saturation_definition,
                            hue_definition,        color_jitter_definition, grayscale_definition};

}  // namespace

Augmentation brightness(FactorOptions options) { return brightness_definition(std::move(options)); }
Augmentation contrast(FactorOptions options) { return contrast_definition(std::move(options)); }
Augmentation saturation(FactorOptions options) { return saturation_definition(std::move(options)); }
Augmentation hue(HueOptions options) { return hue_definition(std::move(options)); }
Augmentation color_jitter(ColorJitterOptions options) {
  return color_jitter_definition(std::move(options));
}
Augmentation grayscale(GrayscaleOptions options) {
  return grayscale_definition(std::move(options));
}

}  // namespace belfry::data
