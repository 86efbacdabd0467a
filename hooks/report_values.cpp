#include "belfry/hooks/report_values.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "belfry/framework/base/error.h"
#include "belfry/framework/base/text.h"
#include "belfry/hooks/model_summaries.h"

namespace belfry::hooks {
namespace {

constexpr std::int64_t most_images = 16, most_pixels = 512;
constexpr std::size_t most_bytes = 10'000;

// u8 [h, w, c], always of its own memory: the caller may go on writing to the image.
Array thinned(const Array& image) {
  std::int64_t height = image.shape()[0], width = image.shape()[1], channels = image.shape()[2];
  std::int64_t stride = (std::max(height, width) + most_pixels - 1) / most_pixels;
  Array out({(height + stride - 1) / stride, (width + stride - 1) / stride, channels}, DType::u8);
  auto from = image.span<std::uint8_t>();
  auto to = out.span<std::uint8_t>().begin();
  for (std::int64_t y = 0; y < height; y += stride)
    for (std::int64_t x = 0; x < width; x += stride)
      to = std::copy_n(from.begin() + (y * width + x) * channels, channels, to);
  return out;
}

}  // namespace

std::array<double, 5> percentiles_of(const Array& values) {
  Array floats = values.cast(DType::f32);
  auto all = floats.span<float>();
  std::array<double, 5> out;
  out.fill(std::numeric_limits<double>::quiet_NaN());
  if (all.empty() || !std::ranges::all_of(all, [](float v) { return std::isfinite(v); }))
    return out;
  std::vector<float> sorted(all.begin(), all.end());
  std::ranges::sort(sorted);
  auto last = static_cast<double>(sorted.size() - 1);
  constexpr std::array<double, 5> shares{0.05, 0.25, 0.5, 0.75, 0.95};
  for (std::size_t i = 0; i < shares.size(); ++i)
    out[i] = sorted[static_cast<std::size_t>(std::lround(shares[i] * last))];
  return out;
}

std::vector<Array> shown_images(const Array& images, std::string_view name) {
  require(images.defined(), "report: the images `", name, "` are undefined");
  Array all = images.shape().rank() == 3
                  ? images.reshape({1, images.shape()[0], images.shape()[1], images.shape()[2]})
                  : images;
  const Shape& shape = all.shape();
  require((is_floating(all.dtype()) || all.dtype() == DType::u8) && shape.rank() == 4
              && (shape[3] == 1 || shape[3] == 3 || shape[3] == 4) && shape.elements() > 0,
          "report: expected images [n, h, w, 1 | 3 | 4], u8 or floating, for `", name, "`, got ",
          images.type());
  std::vector<Array> out;
  for (std::int64_t i = 0; i < std::min(shape[0], most_images); ++i)
    out.push_back(thinned(as_pixels(all.row(i))));
  return out;
}

std::string shown_text(const SummaryValue& summary) {
  return join(texts_of(summary), "\n").substr(0, most_bytes);
}

}  // namespace belfry::hooks
