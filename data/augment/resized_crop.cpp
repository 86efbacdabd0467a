#include "belfry/data/augment/resized_crop.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <span>
#include <utility>
#include <vector>

#include "belfry/data/augment/normalization.h"
#include "belfry/data/augment/random.h"
#include "belfry/data/augment/resizing.h"

namespace belfry::data {
namespace {

// The source pixels of each new pixel along one axis: `count` of them from first[i] on, weighted by
// weights[i count ...], which have the sum 1. One count for all lets the processor predict loops.
struct Taps {
  std::int32_t count = 0;
  std::vector<std::int32_t> first;
  std::vector<float> weights;
};

// A part of a row of pixels that are `unit` long each, from the first pixel that it touches on.
struct Part {
  std::int64_t begin, length, unit;
  std::int64_t pixels() const { return (begin + length + unit - 1) / unit; }
};

// Linear between the centres of the two pixels around, the edge beyond them.
Taps growing_taps(const Part& part, std::int64_t wanted) {
  Taps taps;
  std::int64_t old = part.pixels();
  taps.count = old > 1 ? 2 : 1;
  double begin = part.begin, unit = part.unit;
  double step = static_cast<double>(part.length) / wanted;
  for (std::int64_t i = 0; i < wanted; ++i) {
    double last = old - 1;
    double centre = (begin + (i + 0.5) * step) / unit;
    double at = std::clamp(centre - 0.5, 0.0, last);
    auto first = std::min(static_cast<std::int64_t>(at), old - taps.count);
    auto fraction = static_cast<float>(at - first);
    taps.first.push_back(first);
    taps.weights.push_back(1 - fraction);
    if (taps.count == 2) taps.weights.push_back(fraction);
  }
  return taps;
}

// The overlap of old and new pixels, times `wanted`: whole numbers, so that no rounding leaves a
// sliver of a pixel too many.
Taps shrinking_taps(const Part& part, std::int64_t wanted) {
  Taps taps;
  std::int64_t old = part.pixels(), pixel = part.unit * wanted;
  taps.count = std::min((part.length - 1) / pixel + 2, old);
  for (std::int64_t i = 0; i < wanted; ++i) {
    std::int64_t begin = part.begin * wanted + i * part.length, end = begin + part.length;
    std::int64_t first = std::min(begin / pixel, old - taps.count);
    taps.first.push_back(first);
    for (std::int64_t p = first; p < first + taps.count; ++p) {
      std::int64_t overlap = std::min(end, (p + 1) * pixel) - std::max(begin, p * pixel);
      taps.weights.push_back(static_cast<float>(std::max<std::int64_t>(overlap, 0)) / part.length);
    }
  }
  return taps;
}

Taps make_taps(const Part& part, std::int64_t wanted) {
  return wanted * part.unit < part.length ? shrinking_taps(part, wanted)
                                          : growing_taps(part, wanted);
}

// sums = the weighted sum of rows, `stride` bytes apart, of `length` bytes each. Two rows a pass,
// which halves the traffic with `sums`; rows without weight are left out.
void add_rows(const std::uint8_t* row, std::int64_t stride, std::span<const float> weights,
              float* sums, std::int64_t length) {
  bool first = true;
  for (std::size_t i = 0; i < weights.size(); i += 2, row += 2 * stride) {
    float a = weights[i], b = i + 1 < weights.size() ? weights[i + 1] : 0;
    if (a == 0 && b == 0) continue;
    const std::uint8_t* next = b == 0 ? row : row + stride;
    if (std::exchange(first, false)) {
      for (std::int64_t k = 0; k < length; ++k) sums[k] = a * row[k] + b * next[k];
    } else {
      for (std::int64_t k = 0; k < length; ++k) sums[k] += a * row[k] + b * next[k];
    }
  }
}

// Red, green, blue and the next pixel's red in one register; the fourth is never used.
using Four [[gnu::vector_size(16)]] = float;

Four load(const float* from) {
  Four out;
  std::memcpy(&out, from, sizeof out);
  return out;
}

// The new pixels of one row from sums [width of the crop, 3] and one number more, which load()
// reads. They are stored whole, since each repairs what the one before it wrote beyond its end.
void write_row(const float* sums, const Taps& taps, bool flip, Four scale, Four shift, float* out) {
  std::size_t size = taps.first.size();
  std::size_t count = taps.count;
  for (std::size_t x = 0; x < size; ++x) {
    std::size_t i = flip ? size - 1 - x : x;
    const float* pixel = sums + 3 * taps.first[i];
    const float* weight = taps.weights.data() + i * count;
    Four sum = weight[0] * load(pixel);
    for (std::size_t tap = 1; tap < count; ++tap) sum += weight[tap] * load(pixel + 3 * tap);
    Four value = sum * scale + shift;
    if (x + 1 < size) {
      std::memcpy(out + 3 * x, &value, sizeof value);
    } else {
      std::memcpy(out + 3 * x, &value, 3 * sizeof(float));
    }
  }
}

void check_into(const PixelView& image, const Rectangle& crop, std::int64_t size) {
  check_side("resize_crop_into: size", size);
  require(image.shrink >= 1, "resize_crop_into: shrink must be at least 1, got ", image.shrink);
  require(image.data != nullptr && image.row_bytes >= 3 * image.width,
          "resize_crop_into: the image has no pixels, or rows of ", image.width,
          " pixels that are ", image.row_bytes, " bytes apart");
  std::int64_t height = image.height * image.shrink, width = image.width * image.shrink;
  bool inside = crop.height >= 1 && crop.width >= 1 && crop.top >= 0 && crop.left >= 0
                && crop.top <= height - crop.height && crop.left <= width - crop.width;
  require(inside, "resize_crop_into: the crop of ", crop.height, " x ", crop.width, " pixels at (",
          crop.top, ", ", crop.left, ") is not within the image, ", height, " x ", width);
}

}  // namespace

void check_resized_crop(Range scale, Range ratio) {
  check_order("scale", scale);
  check_order("ratio", ratio);
  require(scale.low > 0 && scale.high <= 1, "scale must be above 0 and at most 1, got [", scale.low,
          ", ", scale.high, "]");
  require(ratio.low >= 1e-3 && ratio.high <= 1e3, "ratio must be from 0.001 to 1000, got [",
          ratio.low, ", ", ratio.high, "]");
}

Rectangle draw_rectangle(std::int64_t height, std::int64_t width, Range scale, Range ratio,
                         PhiloxStream& random) {
  auto area = static_cast<double>(height) * width;
  Range log_ratio{std::log(ratio.low), std::log(ratio.high)};
  for (int attempt = 0; attempt < 10; ++attempt) {
    double wanted = area * draw(scale, random);
    double shape = std::exp(draw(log_ratio, random));
    std::int64_t w = std::llrint(std::sqrt(wanted * shape));
    std::int64_t h = std::llrint(std::sqrt(wanted / shape));
    if (w < 1 || w > width || h < 1 || h > height) continue;
    std::int64_t top = draw_below(height - h + 1, random);
    return {top, draw_below(width - w + 1, random), h, w};
  }
  std::int64_t w = width, h = height;
  double shape = static_cast<double>(width) / height;
  if (shape < ratio.low) h = std::llrint(w / ratio.low);
  if (shape > ratio.high) w = std::llrint(h * ratio.high);
  h = std::clamp<std::int64_t>(h, 1, height);
  w = std::clamp<std::int64_t>(w, 1, width);
  return {(height - h) / 2, (width - w) / 2, h, w};
}

ResizedCropParameters draw_resized_crop(std::int64_t height, std::int64_t width,
                                        const ResizedCropOptions& options, PhiloxStream& random) {
  require(height >= 1 && width >= 1, "draw_resized_crop: an image has at least one pixel, got ",
          height, " x ", width);
  check_resized_crop(options.scale, options.ratio);
  check_probability(options.flip_probability);
  PhiloxStream crop(PhiloxKey{random.next_u64()});
  PhiloxStream flip(PhiloxKey{random.next_u64()});
  return {draw_rectangle(height, width, options.scale, options.ratio, crop),
          draw_event(options.flip_probability, flip)};
}

void resize_crop_into(const PixelView& image, const Rectangle& crop, bool flip,
                      const std::array<float, 3>& mean, const std::array<float, 3>& deviation,
                      float* out, std::int64_t size) {
  check_into(image, crop, size);
  check_normalization("resize_crop_into: ", mean, deviation);
  std::int64_t unit = image.shrink, top = crop.top / unit, left = crop.left / unit;
  Part high{crop.top - top * unit, crop.height, unit};
  Part wide{crop.left - left * unit, crop.width, unit};
  Taps rows = make_taps(high, size), columns = make_taps(wide, size);
  Four scale{}, shift{};
  for (std::size_t c = 0; c < 3; ++c) {
    scale[c] = 1 / (255 * deviation[c]);
    shift[c] = -mean[c] / deviation[c];
  }
  std::int64_t length = 3 * wide.pixels();
  std::vector<float> sums(length + 1);
  const std::uint8_t* corner = image.data + top * image.row_bytes + 3 * left;
  std::size_t count = rows.count;
  for (std::int64_t y = 0; y < size; ++y) {
    add_rows(corner + rows.first[y] * image.row_bytes, image.row_bytes,
             std::span(rows.weights).subspan(y * count, count), sums.data(), length);
    write_row(sums.data(), columns, flip, scale, shift, out + 3 * y * size);
  }
}

}  // namespace belfry::data
