#include "belfry/data/augment/colors/normalize.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "belfry/data/augment/definition.h"
#include "belfry/data/augment/normalization.h"
#include "belfry/framework/base/error.h"

namespace belfry::data {
namespace {

Array& numbers_of(Features& features, const std::string& name) {
  Array& image = features.at(name);
  DType dtype = image.dtype();
  require(image.defined() && (dtype == DType::u8 || dtype == DType::i32 || dtype == DType::f32),
          "feature `", name, "` must be u8, i32 or f32, got ", image.type(),
          "; cast() it to f32 in a map before");
  return image;
}

void check_unit(double unit) {
  require(unit == 0 || (unit >= 1e-6 && unit <= 1e12),
          "unit must be from 1e-6 to 1e12, or 0 for that of the element type, got ", unit);
}

// The value that becomes 1.
double unit_of(double unit, const std::string& name, const Array& image) {
  require(unit != 0 || image.dtype() != DType::i32, "feature `", name, "` is ", image.type(),
          "; give the option unit, the value that becomes 1: 65535 for images of 16 bits");
  return unit != 0 ? unit : image.dtype() == DType::u8 ? 255 : 1;
}

// Calls run(elements, out) for the elements of `image`, which becomes `out`: f32 of its shape. An
// f32 image that nobody else holds is overwritten.
template <class F>
void replace(Array& image, F&& run) {
  bool in_place = image.dtype() == DType::f32 && image.exclusive();
  Array out = in_place ? image : Array(image.shape(), DType::f32);
  float* to = out.span<float>().data();
  const Array& from = image;
  if (image.dtype() == DType::u8) run(from.span<std::uint8_t>(), to);
  if (image.dtype() == DType::i32) run(from.span<std::int32_t>(), to);
  if (image.dtype() == DType::f32) run(from.span<float>(), to);
  image = std::move(out);
}

// ---- normalize

// scale x + shift for each channel, repeated until a row of them is a multiple of 16 long: the
// inner loop then needs no channel number, and its length suits every vector register.
struct Pattern {
  std::vector<float> scale, shift;
};

Pattern make_pattern(const NormalizeOptions& o, const Array& image) {
  double unit = unit_of(o.unit, o.image, image);
  bool alike = o.mean.size() == 1 && o.deviation.size() == 1;
  const Shape& shape = image.shape();
  std::int64_t channels = alike ? 1 : shape[shape.rank() - 1];
  // A pattern longer than the image would cost more than it saves.
  bool worthwhile = 16 * channels <= image.elements();
  std::int64_t length = worthwhile ? std::lcm(channels, std::int64_t{16}) : channels;
  Pattern out;
  for (std::int64_t i = 0; i < length; ++i) {
    std::size_t channel = i % channels;
    double mean = o.mean[o.mean.size() == 1 ? 0 : channel];
    double deviation = o.deviation[o.deviation.size() == 1 ? 0 : channel];
    out.scale.push_back(static_cast<float>(1 / unit / deviation));
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

void check_normalize(const NormalizeOptions& o) {
  require(!o.mean.empty() && !o.deviation.empty(),
          "mean and deviation must be given, for each channel or one for all");
  check_normalization("", o.mean, o.deviation);
  check_unit(o.unit);
}

void apply_normalize(const NormalizeOptions& o, Features& features, PhiloxStream&) {
  Array& image = numbers_of(features, o.image);
  const Shape& shape = image.shape();
  require(shape.rank() >= 1, "feature `", o.image, "` must have channels last, got ", image.type());
  std::int64_t channels = shape[shape.rank() - 1];
  for (std::size_t count : {o.mean.size(), o.deviation.size()})
    require(count == 1 || static_cast<std::int64_t>(count) == channels, "expected 1 or ", channels,
            " numbers in mean and deviation for feature `", o.image, "`, ", image.type(), "; got ",
            count);
  Pattern pattern = make_pattern(o, image);
  replace(image, [&](auto in, float* out) { scale_and_shift(in, pattern, out); });
}

constexpr Definition<NormalizeOptions> normalize_definition{
    .name = "normalize", .check = check_normalize, .apply = apply_normalize};

// ---- to_float

void apply_to_float(const ToFloatOptions& o, Features& features, PhiloxStream&) {
  Array& image = numbers_of(features, o.image);
  auto unit = static_cast<float>(unit_of(o.unit, o.image, image));
  if (image.dtype() == DType::f32 && unit == 1) return;
  replace(image, [unit](auto in, float* out) {
    for (auto x : in) *out++ = static_cast<float>(x) / unit;
  });
}

constexpr Definition<ToFloatOptions> to_float_definition{
    .name = "to_float",
    .check = [](const ToFloatOptions& o) { check_unit(o.unit); },
    .apply = apply_to_float};

const Registered registered{normalize_definition, to_float_definition};

}  // namespace

Augmentation normalize(NormalizeOptions options) {
  return normalize_definition(std::move(options));
}
Augmentation to_float(ToFloatOptions options) { return to_float_definition(std::move(options)); }

}  // namespace belfry::data
