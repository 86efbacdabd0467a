#include "belfry/data/augment/colors/adjust.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <opencv2/core.hpp>
#include <opencv2/imgproc.hpp>

#include "belfry/data/augment/mat.h"
#include "belfry/data/augment/pixels.h"
#include "belfry/framework/base/error.h"

namespace belfry::data {
namespace {

// scale x + shift everywhere.
void adjust_linearly(Array& image, float scale, float shift) {
  if (image.dtype() == DType::u8) {
    std::array<std::uint8_t, 256> table;
    for (std::size_t x = 0; x < table.size(); ++x)
      table[x] = to_pixel<std::uint8_t>(scale * x + shift);
    for (std::uint8_t& x : image.span<std::uint8_t>()) x = table[x];
  } else {
    for (float& x : image.span<float>()) x = to_pixel<float>(scale * x + shift);
  }
}

double mean_gray(const Array& image) {
  cv::Scalar mean = cv::mean(view(image));
  if (image.shape()[2] == 1) return mean[0];
  return gray_weights[0] * mean[0] + gray_weights[1] * mean[1] + gray_weights[2] * mean[2];
}

}  // namespace

void check_color(const Array& image) {
  std::int64_t channels = image.shape()[2];
  require(channels == 1 || channels == 3, "expected 1 channel or 3, got ", image.type());
}

void adjust_brightness(Array& image, double factor) {
  if (factor != 1) adjust_linearly(image, static_cast<float>(factor), 0);
}

void adjust_contrast(Array& image, double factor) {
  check_color(image);
  if (factor == 1) return;
  double shift = (1 - factor) * mean_gray(image);
  adjust_linearly(image, static_cast<float>(factor), static_cast<float>(shift));
}

void adjust_saturation(Array& image, double factor) {
  check_color(image);
  if (factor == 1 || image.shape()[2] == 1) return;
  auto f = static_cast<float>(factor);
  for_pixels(image, [f]<class T>(T* p) {
    float gray = (1 - f) * gray_of(p);
    for (int c = 0; c < 3; ++c) p[c] = to_pixel<T>(f * static_cast<float>(p[c]) + gray);
  });
}

void adjust_hue(Array& image, double turns) {
  check_color(image);
  if (turns == 0 || image.shape()[2] == 1) return;
  bool bytes = image.dtype() == DType::u8;
  cv::Mat pixels = view(image), hsv;
  pixels.convertTo(hsv, CV_32FC3, bytes ? 1.0 / 255 : 1.0);
  cv::cvtColor(hsv, hsv, cv::COLOR_RGB2HSV);  // hue in degrees
  auto shift = static_cast<float>(turns * 360);
  auto* hue = hsv.ptr<float>();
  for (std::size_t i = 0; i < hsv.total(); ++i) {
    float& h = hue[3 * i];
    h += shift;
    h -= h >= 360 ? 360.0f : h < 0 ? -360.0f : 0.0f;
    if (!(h >= 0 && h < 360)) h = 0;  // what is not finite
  }
  cv::cvtColor(hsv, hsv, cv::COLOR_HSV2RGB);
  if (bytes) {
    hsv.convertTo(pixels, CV_8UC3, 255);
  } else {
    std::transform(hue, hue + image.elements(), image.span<float>().begin(), to_pixel<float>);
  }
}

}  // namespace belfry::data
