#include <algorithm>
#include <cmath>
#include <optional>

#include "belfry/data/augment/corruption.h"
#include "belfry/data/augment/definition.h"
#include "belfry/data/augment/random.h"
#include "belfry/data/augment/resizing.h"
#include "belfry/data/augment/targets.h"
#include "belfry/framework/base/error.h"

namespace belfry::data {
namespace {

// Calls write(span) for the elements of each row of the part `r`, which must be within the image.
template <class F>
void for_rows(Array& image, const Rectangle& r, F&& write) {
  std::int64_t width = image.shape()[1], channels = image.shape()[2];
  auto run = [&](auto values) {
    for (std::int64_t row = r.top; row < r.top + r.height; ++row)
      write(values.subspan((row * width + r.left) * channels,
                           static_cast<std::size_t>(r.width * channels)));
  };
  image.dtype() == DType::u8 ? run(image.span<std::uint8_t>()) : run(image.span<float>());
}

void fill(Array& image, const Rectangle& r, const Array& element) {
  for_rows(image, r, [&]<class T>(std::span<T> row) {
    std::fill(row.begin(), row.end(), element.span<T>()[0]);
  });
}

void fill_with_noise(Array& image, const Rectangle& r, PhiloxStream& random) {
  for_rows(image, r, [&]<class T>(std::span<T> row) {
    if constexpr (std::is_same_v<T, float>) {
      fill_normal(row, random);
    } else {
      for (T& x : row) x = static_cast<T>(random.next_u32() >> 24);
    }
  });
}

// ---- cutout

void apply_cutout(const CutoutOptions& o, Features& features, PhiloxStream& random) {
  Array& image = writable_image(features, o.image);
  Array element = fill_element({false, image.dtype(), o.image}, o.fill);
  std::int64_t height = image.shape()[0], width = image.shape()[1];
  for (std::int64_t i = 0; i < o.count; ++i) {
    std::int64_t top = draw_below(height, random) - o.size / 2;
    std::int64_t left = draw_below(width, random) - o.size / 2;
    std::int64_t bottom = std::min(top + o.size, height), right = std::min(left + o.size, width);
    top = std::max<std::int64_t>(top, 0);
    left = std::max<std::int64_t>(left, 0);
    fill(image, {top, left, bottom - top, right - left}, element);
  }
}

void check_count(std::int64_t count) {
  constexpr std::int64_t most = 10'000;
  require(count >= 1 && count <= most, "count must be from 1 to ", most, ", got ", count);
}

constexpr Definition<CutoutOptions> cutout_definition{.name = "cutout",
                                                      .check =
                                                          [](const CutoutOptions& o) {
                                                            check_side("size", o.size);
                                                            check_count(o.count);
                                                          },
                                                      .apply = apply_cutout};

// ---- random_erasing

std::optional<Rectangle> draw_erased(const RandomErasingOptions& o, const Shape& shape,
                                     PhiloxStream& random) {
  std::int64_t height = shape[0], width = shape[1];
  auto area = static_cast<double>(height) * width;
  Range log_ratio{std::log(o.ratio.low), std::log(o.ratio.high)};
  if (!draw_event(o.probability, random)) return std::nullopt;
  for (int attempt = 0; attempt < 10; ++attempt) {
    double wanted = area * draw(o.scale, random);
    double ratio = std::exp(draw(log_ratio, random));
    std::int64_t h = std::llrint(std::sqrt(wanted * ratio));
    std::int64_t w = std::llrint(std::sqrt(wanted / ratio));
    if (h >= height || w >= width) continue;
    std::int64_t top = draw_below(height - h + 1, random);
    return Rectangle{top, draw_below(width - w + 1, random), h, w};
  }
  return std::nullopt;
}

void apply_random_erasing(const RandomErasingOptions& o, Features& features, PhiloxStream& random) {
  const Array& given = image_at(features, o.image);
  Array element;
  if (!o.noise) element = fill_element({false, given.dtype(), o.image}, o.fill);
  std::optional<Rectangle> part = draw_erased(o, given.shape(), random);
  if (!part) return;
  Array& image = writable_image(features, o.image);
  o.noise ? fill_with_noise(image, *part, random) : fill(image, *part, element);
}

constexpr Definition<RandomErasingOptions> random_erasing_definition{
    .name = "random_erasing",
    .check =
        [](const RandomErasingOptions& o) {
          check_probability(o.probability);
          check_resized_crop(o.scale, o.ratio);
        },
    .apply = apply_random_erasing};

const Registered registered{cutout_definition, random_erasing_definition};

}  // namespace

Augmentation cutout(CutoutOptions options) { return cutout_definition(std::move(options)); }
Augmentation random_erasing(RandomErasingOptions options) {
  return random_erasing_definition(std::move(options));
}

}  // namespace belfry::data
