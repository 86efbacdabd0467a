#pragma once
// The bridge to OpenCV, for those who use it: not part of data.h, and the only public header that
// includes it. Compile with OpenCV's include folder and link opencv_core.
//
//   cv::Mat pixels = data::view(features.at("image"));  // no copy
//   cv::GaussianBlur(pixels, pixels, {5, 5}, 1.0);
//   features.set("image", data::to_array(cv::imread("cat.png")));  // no copy; channels are BGR

#include <opencv2/core.hpp>

#include "belfry/data/augment/mat.h"
