#include "belfry/data/augment/normalize.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "belfry/data/augment/definition.h"
#include "belfry/data/augment/targets.h"
#include "belfry/framework/base/error.h"

namespace belfry::data {
namespace {

Array& numbers_of(Features& features, const std::string& name) {
  Array& image = features.at(name);
  require(image.defined() && image.shape().rank() >= 1
              && (image.dtype() == DType::u8 || image.dtype() == DType::f32),
          "feature `", name, "` must be u8 or f32 with channels last, got ", image.type());
  return image;
}

// scale x + shift for each channel, repeated until a row of them is a multiple of 16 long: the
// inner loop then needs no channel number, and its length suits every vector register.
struct Pattern {
  std::vector<float> scale, shift;
};

Pattern make_pattern(const NormalizeOptions& o, std::size_t channels, double unit) {
  std::size_t length = std::lcm(channels, std::size_t{16});
  Pattern out;
  for (std::size_t i = 0; i < length; ++i) {
    double mean = o.mean[o.mean.size() == 1 ? 0 : i % channels];
    double deviation = o.deviation[o.deviation.size() == 1 ? 0 : i % channels];
    out.scale.push_back(static_cast<float>(unit / deviation));
    out.shift.push_back(static_cast<float>(-mean / deviation));
  }
  return out;
}

template <class T>
void scale_and_shift(std::span<const T> in, const Pattern& pattern, float* out) {
  const float* scale = pattern.scale.data();
  const float* shift = pattern.shift.data();
  std::size_t length = pattern.scale.size();
  for (std::size_t first = 0; first < in.size(); first += length) {
    const T* x = in.data() + first;
    float* y = out + first;
    std::size_t count = std::min(length, in.size() - first);
    for (std::size_t i = 0; i < count; ++i) y[i] = static_cast<float>(x[i]) * scale[i] + shift[i];
  }
}

void apply_normalize(const NormalizeOptions& o, Features& features, PhiloxStream&) {
  Array& image = numbers_of(features, o.image);
  std::int64_t channels = image.shape()[image.shape().rank() - 1];
  for (std::size_t count : {o.mean.size(), o.deviation.size()})
    require(count == 1 || static_cast<std::int64_t>(count) == channels, "expected 1 or ", channels,
            " numbers in mean and deviation for feature `", o.image, "`, ", image.type(), "; got ",
            count);
  if (image.elements() == 0) {
    image = Array(image.shape(), DType::f32);
  } else if (image.dtype() == DType::u8) {
    Array out(image.shape(), DType::f32);
    Pattern pattern = make_pattern(o, static_cast<std::size_t>(channels), 1.0 / 255);
    scale_and_shift(std::as_const(image).span<std::uint8_t>(), pattern, out.span<float>().data());
    image = std::move(out);
  } else {
    make_exclusive(image);
    Pattern pattern = make_pattern(o, static_cast<std::size_t>(channels), 1.0);
    scale_and_shift(std::as_const(image).span<float>(), pattern, image.span<float>().data());
  }
}

constexpr Definition<NormalizeOptions> normalize_definition{
    .name = "normalize",
    .fields =
        [](OptionFields& f, NormalizeOptions& o) {
          f.field("mean", o.mean);
          f.field("deviation", o.deviation);
          f.field("image", o.image);
        },
    .check =
        [](const NormalizeOptions& o) {
          require(!o.mean.empty() && !o.deviation.empty(),
                  "mean and deviation must be given, for each channel or one for all");
          for (double d : o.deviation)
            require(d >= 1e-6, "deviation must be above 0 (at least 1e-6), got ", d);
        },
    .apply = apply_normalize};

constexpr Definition<ToFloatOptions> to_float_definition{
    .name = "to_float",
    .fields = [](OptionFields& f, ToFloatOptions& o) { f.field("image", o.image); },
    .check = nullptr,
    .apply =
        [](const ToFloatOptions& o, Features& features, PhiloxStream&) {
          Array& image = numbers_of(features, o.image);
          if (image.dtype() == DType::f32) return;
          Array out(image.shape(), DType::f32);
          float* y = out.span<float>().data();
          for (std::uint8_t x : image.span<std::uint8_t>()) *y++ = static_cast<float>(x) / 255;
          image = std::move(out);
        }};

const Registered registered{normalize_definition, to_float_definition};

}  // namespace

Augmentation normalize(NormalizeOptions options) {
  return normalize_definition(std::move(options));
}
Augmentation to_float(ToFloatOptions options) { return to_float_definition(std::move(options)); }

}  // namespace belfry::data
