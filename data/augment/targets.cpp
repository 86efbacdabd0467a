#include "belfry/data/augment/targets.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <opencv2/core.hpp>

#include "belfry/data/augment/mat.h"
#include "belfry/framework/base/error.h"

namespace belfry::data {
namespace {

static_assert(most_channels == CV_CN_MAX);

void check_image(const std::string& name, const Array& image, Elements elements) {
  require(image.defined() && image.shape().rank() == 3, "feature `", name,
          "` must be an image [h, w, c], got ", image.type());
  check_elements(name, image, elements);
  const Shape& s = image.shape();
  require(s.elements() > 0 && s[0] <= longest_side && s[1] <= longest_side && s[2] <= most_channels,
          "feature `", name, "` must have sides of 1 to ", longest_side, " and 1 to ",
          most_channels, " channels, got ", image.type());
}

void check_mask(const std::string& name, const Array& mask, const Shape& image) {
  const Shape& s = mask.shape();
  bool fits = mask.defined() && (s.rank() == 2 || s.rank() == 3) && s[0] == image[0]
              && s[1] == image[1] && (s.rank() == 2 || (s[2] > 0 && s[2] <= most_channels));
  require(fits, "mask `", name, "` must be [h, w] or [h, w, c] with the image's ", image[0], " x ",
          image[1], " pixels, got ", mask.type());
}

std::string values_of(DType dtype) {
  switch (dtype) {
    case DType::u8:
      return "0 to 255";
    case DType::boolean:
      return "0 or 1";
    case DType::i32:
      return "a whole number of 32 bits";
    case DType::i64:
      return "a whole number of 64 bits";
    default:
      return concat("a number that ", dtype, " holds");
  }
}

}  // namespace

void check_targets(const std::string& image, const std::vector<std::string>& masks) {
  for (auto mask = masks.begin(); mask != masks.end(); ++mask)
    require(*mask != image && std::find(masks.begin(), mask, *mask) == mask, "the feature `", *mask,
            "` is named twice in the options");
}

void check_probability(double probability) {
  require(probability >= 0 && probability <= 1, "probability must be from 0 to 1, got ",
          probability);
}

void check_side(const char* name, std::int64_t size) {
  require(size >= 1 && size <= longest_side, name, " must be from 1 to ", longest_side, ", got ",
          size);
}

void check_elements(const std::string& name, const Array& image, Elements elements) {
  bool fits =
      elements == Elements::any || image.dtype() == DType::u8 || image.dtype() == DType::f32;
  require(fits, "feature `", name, "` must be u8 or f32, got ", image.type(),
          "; cast() it to f32 in a map before");
}

Targets::Targets(Features& features, const std::string& image,
                 const std::vector<std::string>& masks, Elements elements) {
  Array& first = features.at(image);
  check_image(image, first, elements);
  targets_.push_back({image, &first});
  shape_ = first.shape();
  height_ = shape_[0];
  width_ = shape_[1];
  for (const std::string& name : masks) {
    Array& mask = features.at(name);
    check_mask(name, mask, shape_);
    targets_.push_back({name, &mask});
  }
}

void Targets::map(std::int64_t height, std::int64_t width, const PixelMap& map) {
  for (const auto& [name, array] : targets_) {
    Array result(array->shape().with(0, height).with(1, width), array->dtype());
    cv::Mat to = raw_view(result);
    map_channels(raw_view(*array), to, {array != targets_[0].array, array->dtype(), name}, map);
    *array = std::move(result);
  }
}

void map_channels(const cv::Mat& from, cv::Mat& to, PixelKind kind, const PixelMap& map) {
  const unsigned char* memory = to.data;
  int channels = from.channels();
  if (channels <= 4) {
    map(from, to, kind);
    ensure(to.data == memory, "an augmentation left its result in other memory");
    return;
  }
  for (int first = 0; first < channels; first += 4) {
    int count = std::min(4, channels - first);
    int type = CV_MAKETYPE(from.depth(), count);
    cv::Mat part(from.size(), type), result(to.size(), type);
    std::vector<int> there, back;
    for (int i = 0; i < count; ++i) {
      there.insert(there.end(), {first + i, i});
      back.insert(back.end(), {i, first + i});
    }
    cv::mixChannels(&from, 1, &part, 1, there.data(), count);
    map(part, result, kind);
    cv::mixChannels(&result, 1, &to, 1, back.data(), count);
  }
}

Array& image_at(Features& features, const std::string& name) {
  Array& image = features.at(name);
  check_image(name, image, Elements::u8_or_f32);
  return image;
}

Array& writable_image(Features& features, const std::string& name) {
  Array& image = image_at(features, name);
  make_exclusive(image);
  return image;
}

void make_exclusive(Array& array) {
  if (!array.exclusive()) array = array.clone();
}

cv::Mat raw_view(Array& array) {
  const Shape& shape = array.shape();
  ensure(shape.rank() == 2 || shape.rank() == 3, "raw_view of ", array.type());
  int channels = shape.rank() == 3 ? shape[2] : 1;
  int depth = array.dtype() == DType::f32   ? CV_32F
              : size_of(array.dtype()) == 1 ? CV_8U
              : size_of(array.dtype()) == 2 ? CV_16U
              : size_of(array.dtype()) == 4 ? CV_32S
                                            : CV_64F;
  return cv::Mat(shape[0], shape[1], CV_MAKETYPE(depth, channels), array.raw());
}

Array fill_element(const PixelKind& kind, double fill) {
  bool floating = is_floating(kind.dtype);
  double wanted = kind.mask || floating ? fill : std::floor(fill + 0.5);
  Array element = Array::scalar(wanted).cast(kind.dtype);
  double held = element.item();
  bool rounds = floating && (!kind.mask || (kind.dtype == DType::f32 && fill != std::trunc(fill)));
  require(rounds ? std::isfinite(held) : held == wanted, kind.mask ? "mask_fill " : "fill ", fill,
          " does not fit the ", kind.mask ? "mask `" : "image `", kind.name, "`, ", kind.dtype,
          ": use ", values_of(kind.dtype), ", or cast() it in a map before");
  return element;
}

double raw_fill(const PixelKind& kind, Border border, double fill) {
  if (border != Border::constant) return 0;
  Array element = fill_element(kind, fill);
  if (kind.dtype == DType::i64) return std::bit_cast<double>(element.span<std::int64_t>()[0]);
  if (kind.dtype == DType::f16) return element.span<Float16>()[0].bits;
  if (kind.dtype == DType::bf16) return element.span<BFloat16>()[0].bits;
  return element.item();
}

}  // namespace belfry::data
