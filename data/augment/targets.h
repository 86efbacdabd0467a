#pragma once
// The arrays that an augmentation works on, checked, and as OpenCV matrices.

#include <functional>
#include <string>
#include <vector>

#include "belfry/data/augment/options.h"
#include "belfry/framework/tensor/features.h"

namespace cv {
class Mat;
template <class T>
class Scalar_;
}  // namespace cv

namespace belfry::data {

/// Error: a name twice among the image's and the masks'.
void check_targets(const std::string& image, const std::vector<std::string>& masks);

/// Error unless 0 <= probability <= 1.
void check_probability(double probability);

/// What pixels are: an image's, or a mask's, which must not be blended.
struct PixelKind {
  bool mask;
  DType dtype;
};

/// Makes `to`, which has memory of its own already, from `from`. At most 4 channels; the depth has
/// the size of the element type, and for images is CV_8U or CV_32F.
using PixelMap = std::function<void(const cv::Mat& from, cv::Mat& to, PixelKind kind)>;

/// An image and its masks. Error of the constructor: see Augmentation.
class Targets {
 public:
  Targets(Features& features, const std::string& image, const std::vector<std::string>& masks);

  std::int64_t height() const { return height_; }
  std::int64_t width() const { return width_; }
  const Shape& shape() const { return shape_; }  ///< the image's

  /// Replaces image and masks by [height, width] ones that `map` makes.
  void map(std::int64_t height, std::int64_t width, const PixelMap& map);

 private:
  std::vector<Array*> arrays_;  // the image first
  Shape shape_;
  std::int64_t height_ = 0, width_ = 0;
};

/// Calls `map` for all channels, at most four at a time: more than OpenCV's geometric functions
/// take.
void map_channels(const cv::Mat& from, cv::Mat& to, PixelKind kind, const PixelMap& map);

/// The image `name`, u8 or f32 [h, w, c], in memory that may be overwritten.
Array& writable_image(Features& features, const std::string& name);

/// Takes `array` into memory of its own if somebody else holds it.
void make_exclusive(Array& array);

/// [h, w, c] or [h, w] as a matrix whose depth has the size of the element type: what moves pixels
/// moves i64 as CV_64F, and so on. Any element type.
cv::Mat raw_view(Array& array);

/// The value `fill` of this element type, as OpenCV's functions want it for a raw_view().
cv::Scalar_<double> raw_fill(DType dtype, double fill);

}  // namespace belfry::data
