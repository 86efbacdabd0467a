#include "belfry/data/augment/mix.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "belfry/data/augment/definition.h"
#include "belfry/data/augment/pixels.h"
#include "belfry/data/augment/random.h"
#include "belfry/data/augment/resized_crop.h"
#include "belfry/data/augment/targets.h"
#include "belfry/framework/base/error.h"

namespace belfry::data {
namespace {

using Permutation = std::vector<std::int64_t>;

void check(const MixOptions& o) {
  require(o.alpha >= 1e-3 && o.alpha <= 1e3, "alpha must be from 0.001 to 1000, got ", o.alpha);
  check_probability(o.probability);
  constexpr std::int64_t most = 1 << 24;
  require(o.classes >= 0 && o.classes <= most, "classes must be from 0 to ", most, ", got ",
          o.classes);
  check_targets(o.image, {o.label});
}

struct MixDraw {
  bool mixed;
  double kept;        // the first row's share
  double y, x;        // the centre of cutmix's rectangle, as fractions of the size
  Permutation other;  // each row's partner
};

MixDraw draw_mix(const MixOptions& o, std::int64_t rows, PhiloxStream& random) {
  MixDraw d{};
  d.mixed = draw_event(o.probability, random);
  d.y = random.uniform_double();
  d.x = random.uniform_double();
  d.kept = draw_beta(o.alpha, o.alpha, random);
  d.other = draw_permutation(rows, random);
  return d;
}

Array& batch_of(Features& features, const std::string& name, int least_rank, const char* shape) {
  Array& image = features.at(name);
  bool fits = image.defined() && image.shape().rank() >= least_rank
              && (image.dtype() == DType::u8 || image.dtype() == DType::f32);
  require(fits, "feature `", name, "` must be a batch ", shape, ", u8 or f32, got ", image.type(),
          "; this belongs after data::batch");
  return image;
}

// f32 [n, classes], in memory of its own.
Array soft_labels(const MixOptions& o, const Array& label, std::int64_t rows) {
  const Shape& s = label.shape();
  bool soft = label.defined() && label.dtype() == DType::f32 && s.rank() == 2 && s[0] == rows
              && (o.classes == 0 || s[1] == o.classes);
  if (soft) return label.clone();
  bool hard = label.defined() && label.dtype() == DType::i64 && s.rank() == 1 && s[0] == rows;
  require(!hard || o.classes > 0, "feature `", o.label, "` is ", label.type(),
          "; give the option classes, how many there are, to make soft labels of it");
  require(hard, "feature `", o.label, "` must be f32[", rows, ", ",
          o.classes > 0 ? text(o.classes) : "classes", "] or i64[", rows, "], got ", label.type());
  Array out = Array::zeros({rows, o.classes});
  for (std::int64_t row = 0; row < rows; ++row) {
    std::int64_t value = label.span<std::int64_t>()[row];
    require(value >= 0 && value < o.classes, "feature `", o.label, "` is ", value, " in row ", row,
            ", expected 0 to ", o.classes - 1);
    out.span<float>()[row * o.classes + value] = 1;
  }
  return out;
}

// Calls change(row, other) for each row with the elements of both as they were before. Going along
// the permutation's cycles, a row is overwritten only after the one that needs it; a copy of one
// row of each cycle suffices. `keep(row)` makes that copy and returns where it is.
template <class T, class Keep, class Change>
void along_cycles(const Permutation& other, T* rows, std::int64_t length, Keep&& keep,
                  Change&& change) {
  std::vector<bool> done(other.size());
  for (std::size_t first = 0; first < other.size(); ++first) {
    if (done[first]) continue;
    T* row = rows + static_cast<std::int64_t>(first) * length;
    const T* kept = keep(row);
    for (std::size_t at = first; !done[at];) {
      done[at] = true;
      std::size_t next = other[at];
      T* target = rows + static_cast<std::int64_t>(at) * length;
      change(target, next == first ? kept : rows + static_cast<std::int64_t>(next) * length);
      at = next;
    }
  }
}

template <class T>
T blend(T a, T b, float kept) {
  float value = kept * static_cast<float>(a) + (1 - kept) * static_cast<float>(b);
  if constexpr (std::is_same_v<T, float>) return value;
  return to_pixel<T>(value);
}

template <class T>
void mix_rows(Array& array, const Permutation& other, float kept) {
  std::span<T> values = array.span<T>();
  std::int64_t length = array.elements() / std::max<std::int64_t>(1, std::ssize(other));
  std::vector<T> copy(length);
  along_cycles(
      other, values.data(), length,
      [&](const T* row) {
        std::copy_n(row, length, copy.data());
        return copy.data();
      },
      [&](T* row, const T* partner) {
        for (std::int64_t i = 0; i < length; ++i) row[i] = blend(row[i], partner[i], kept);
      });
}

template <class T>
void paste_rows(Array& array, const Permutation& other, const Rectangle& r) {
  const Shape& s = array.shape();
  std::int64_t length = s[1] * s[2] * s[3], line = s[2] * s[3];
  std::vector<T> copy(length);
  auto copy_rectangle = [&](const T* from, T* to) {
    for (std::int64_t y = r.top; y < r.top + r.height; ++y)
      std::copy_n(from + y * line + r.left * s[3], r.width * s[3], to + y * line + r.left * s[3]);
  };
  along_cycles(
      other, array.span<T>().data(), length,
      [&](const T* row) {
        copy_rectangle(row, copy.data());
        return copy.data();
      },
      [&](T* row, const T* partner) {
        if (row != partner) copy_rectangle(partner, row);
      });
}

void apply_mixup(const MixOptions& o, Features& features, PhiloxStream& random) {
  Array& image = batch_of(features, o.image, 1, "[n, ...]");
  std::int64_t rows = image.shape()[0];
  Array label = soft_labels(o, features.at(o.label), rows);
  MixDraw d = draw_mix(o, rows, random);
  if (d.mixed) {
    auto kept = static_cast<float>(d.kept);
    image.dtype() == DType::u8 ? mix_rows<std::uint8_t>(image, d.other, kept)
                               : mix_rows<float>(image, d.other, kept);
    mix_rows<float>(label, d.other, kept);
  }
  features.set(o.label, std::move(label));
}

Rectangle cut_rectangle(const MixDraw& d, std::int64_t height, std::int64_t width) {
  double side = std::sqrt(1 - d.kept) / 2;
  auto along = [side](double centre, std::int64_t size, std::int64_t& first, std::int64_t& count) {
    auto middle = static_cast<std::int64_t>(centre * size);
    auto half = static_cast<std::int64_t>(side * size);
    first = std::max<std::int64_t>(middle - half, 0);
    count = std::min(middle + half, size) - first;
  };
  Rectangle r;
  along(d.y, height, r.top, r.height);
  along(d.x, width, r.left, r.width);
  return r;
}

void apply_cutmix(const MixOptions& o, Features& features, PhiloxStream& random) {
  Array& image = batch_of(features, o.image, 4, "[n, h, w, c]");
  require(image.shape().rank() == 4 && (image.elements() > 0 || image.shape()[0] == 0), "feature `",
          o.image, "` must be a batch [n, h, w, c], got ", image.type());
  std::int64_t rows = image.shape()[0];
  Array label = soft_labels(o, features.at(o.label), rows);
  MixDraw d = draw_mix(o, rows, random);
  if (d.mixed) {
    Rectangle r = cut_rectangle(d, image.shape()[1], image.shape()[2]);
    image.dtype() == DType::u8 ? paste_rows<std::uint8_t>(image, d.other, r)
                               : paste_rows<float>(image, d.other, r);
    double area = image.shape()[1] * image.shape()[2];
    mix_rows<float>(label, d.other, static_cast<float>(1 - (r.height * r.width) / area));
  }
  features.set(o.label, std::move(label));
}

constexpr Definition<MixOptions> mixup_definition{
    .name = "mixup", .check = check, .apply = apply_mixup};

constexpr Definition<MixOptions> cutmix_definition{
    .name = "cutmix", .check = check, .apply = apply_cutmix};

const Registered registered{mixup_definition, cutmix_definition};

}  // namespace

Augmentation mixup(MixOptions options) { return mixup_definition(std::move(options)); }
Augmentation cutmix(MixOptions options) { return cutmix_definition(std::move(options)); }

}  // namespace belfry::data
