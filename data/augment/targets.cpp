#include "belfry/data/augment/targets.h"

#include <algorithm>
#include <bit>
#include <opencv2/core.hpp>

#include "belfry/data/augment/mat.h"
#include "belfry/framework/base/error.h"

namespace belfry::data {
namespace {

constexpr std::int64_t most_channels = CV_CN_MAX;
// OpenCV's remap counts rows and columns in 16 bits.
constexpr std::int64_t longest_side = 32'766;

void check_image(const std::string& name, const Array& image) {
  require(image.defined() && image.shape().rank() == 3, "feature `", name,
          "` must be an image [h, w, c], got ", image.type());
  require(image.dtype() == DType::u8 || image.dtype() == DType::f32, "feature `", name,
          "` must be u8 or f32, got ", image.type());
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

Targets::Targets(Features& features, const std::string& image,
                 const std::vector<std::string>& masks) {
  arrays_.push_back(&features.at(image));
  check_image(image, *arrays_[0]);
  shape_ = arrays_[0]->shape();
  height_ = shape_[0];
  width_ = shape_[1];
  for (const std::string& mask : masks) {
    arrays_.push_back(&features.at(mask));
    check_mask(mask, *arrays_.back(), shape_);
  }
}

void Targets::map(std::int64_t height, std::int64_t width, const PixelMap& map) {
  for (Array* array : arrays_) {
    Array result(array->shape().with(0, height).with(1, width), array->dtype());
    cv::Mat to = raw_view(result);
    map_channels(raw_view(*array), to, {array != arrays_[0], array->dtype()}, map);
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
    cv::mixChannels(&from, 1, &part, 1, there.data(), static_cast<std::size_t>(count));
    map(part, result, kind);
    cv::mixChannels(&result, 1, &to, 1, back.data(), static_cast<std::size_t>(count));
  }
}

Array& writable_image(Features& features, const std::string& name) {
  Array& image = features.at(name);
  check_image(name, image);
  make_exclusive(image);
  return image;
}

void make_exclusive(Array& array) {
  if (!array.exclusive()) array = array.clone();
}

cv::Mat raw_view(Array& array) {
  const Shape& shape = array.shape();
  ensure(shape.rank() == 2 || shape.rank() == 3, "raw_view of ", array.type());
  int channels = shape.rank() == 3 ? static_cast<int>(shape[2]) : 1;
  int depth = array.dtype() == DType::f32   ? CV_32F
              : size_of(array.dtype()) == 1 ? CV_8U
              : size_of(array.dtype()) == 2 ? CV_16U
              : size_of(array.dtype()) == 4 ? CV_32S
                                            : CV_64F;
  return {static_cast<int>(shape[0]), static_cast<int>(shape[1]), CV_MAKETYPE(depth, channels),
          array.raw()};
}

cv::Scalar_<double> raw_fill(DType dtype, double fill) {
  Array value = Array::scalar(fill).cast(dtype);
  double raw = fill;
  if (dtype == DType::i64) raw = std::bit_cast<double>(value.span<std::int64_t>()[0]);
  if (dtype == DType::boolean) raw = value.span<bool>()[0] ? 1 : 0;
  if (dtype == DType::f16) raw = value.span<Float16>()[0].bits;
  if (dtype == DType::bf16) raw = value.span<BFloat16>()[0].bits;
  return cv::Scalar::all(raw);
}

}  // namespace belfry::data
