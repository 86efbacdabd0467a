#pragma once
// The arrays that an augmentation works on, checked, and as OpenCV matrices.

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "belfry/data/augment/options.h"
#include "belfry/framework/tensor/features.h"

namespace cv {
class Mat;
}

namespace belfry::data {

/// OpenCV's remap counts rows and columns in 16 bits.
inline constexpr std::int64_t longest_side = 32'766;
/// OpenCV's too.
inline constexpr std::int64_t most_channels = 512;

/// Error: a name twice among the image's and the masks'.
void check_targets(const std::string& image, const std::vector<std::string>& masks);

/// Error unless 0 <= probability <= 1.
void check_probability(double probability);

/// Error unless `size` is a side that an image may have.
void check_side(const char* name, std::int64_t size);

/// The element types that an augmentation takes: those that it can calculate with, or any, because
/// it only moves elements.
enum class Elements { u8_or_f32, any };

/// Error unless the image `name` has such elements.
void check_elements(const std::string& name, const Array& image, Elements elements);

/// The kind of pixels: an image's, or a mask's, which must not be blended.
struct PixelKind {
  bool mask;
  DType dtype;
  std::string_view name;  ///< of the feature
};

/// Makes `to`, which has memory of its own already, from `from`. At most 4 channels; the depth has
/// the size of the element type, and is CV_8U for u8 and CV_32F for f32.
using PixelMap = std::function<void(const cv::Mat& from, cv::Mat& to, PixelKind kind)>;

/// An image and its masks. Error of the constructor: see Augmentation.
class Targets {
 public:
  Targets(Features& features, const std::string& image, const std::vector<std::string>& masks,
          Elements elements = Elements::u8_or_f32);

  std::int64_t height() const { return height_; }
  std::int64_t width() const { return width_; }
  const Shape& shape() const { return shape_; }  ///< the image's

  /// Replaces image and masks by [height, width] ones that `map` makes.
  void map(std::int64_t height, std::int64_t width, const PixelMap& map);

 private:
  struct Target {
    std::string name;
    Array* array;
  };
  std::vector<Target> targets_;  // the image first
  Shape shape_;
  std::int64_t height_ = 0, width_ = 0;
};

/// Calls `map` for all channels, at most four at a time: more than OpenCV's geometric functions
/// take.
void map_channels(const cv::Mat& from, cv::Mat& to, PixelKind kind, const PixelMap& map);

/// The image `name`, u8 or f32 [h, w, c].
Array& image_at(Features& features, const std::string& name);

/// The same, in memory that may be overwritten.
Array& writable_image(Features& features, const std::string& name);

/// Takes `array` into memory of its own if somebody else holds it.
void make_exclusive(Array& array);

/// [h, w, c] or [h, w] as a matrix whose depth has the size of the element type: what moves pixels
/// moves i64 as CV_64F, and so on. Any element type.
cv::Mat raw_view(Array& array);

/// The options `fill` and `mask_fill` as one element of the pixels' type. In images of whole
/// numbers fractions are rounded to nearest, halves up. Masks hold exactly the number that was
/// asked for; only f32 takes the nearest to a fraction. Error: a number that the type cannot hold.
Array fill_element(const PixelKind& kind, double fill);

/// fill_element() as OpenCV's functions want it in each channel of a raw_view(); 0 unless the
/// border is constant.
double raw_fill(const PixelKind& kind, Border border, double fill);

}  // namespace belfry::data
