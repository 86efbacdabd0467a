#include "belfry/data/augment/mat.h"

#include <limits>
#include <memory>
#include <opencv2/core.hpp>

#include "belfry/framework/base/error.h"

namespace belfry::data {
namespace {

int depth_of(DType dtype) {
  switch (dtype) {
    case DType::u8:
      return CV_8U;
    case DType::i32:
      return CV_32S;
    case DType::f32:
      return CV_32F;
    case DType::f64:
      return CV_64F;
    default:
      fail("view: a matrix has elements u8, i32, f32 or f64, not ", dtype,
           "; cast() the array first");
  }
}

DType dtype_of_depth(int depth) {
  switch (depth) {
    case CV_8U:
      return DType::u8;
    case CV_32S:
      return DType::i32;
    case CV_32F:
      return DType::f32;
    case CV_64F:
      return DType::f64;
    default:
      fail("to_array: the matrix has elements of OpenCV's depth ", depth,
           ", expected CV_8U, CV_32S, CV_32F or CV_64F; convertTo() one of them first");
  }
}

}  // namespace

cv::Mat view(Array& array) {
  const Shape& shape = array.shape();
  require(array.defined() && (shape.rank() == 2 || shape.rank() == 3) && shape.elements() > 0,
          "view: a matrix is [h, w] or [h, w, c] with elements, got ", array.type());
  std::int64_t channels = shape.rank() == 3 ? shape[2] : 1;
  constexpr std::int64_t most = std::numeric_limits<int>::max();
  require(shape[0] <= most && shape[1] <= most && channels <= CV_CN_MAX,
          "view: a matrix has at most ", most, " rows and columns and ", CV_CN_MAX,
          " channels, got ", shape);
  int type = CV_MAKETYPE(depth_of(array.dtype()), channels);
  return cv::Mat(shape[0], shape[1], type, array.raw());
}

const cv::Mat view(const Array& array) { return view(const_cast<Array&>(array)); }

Array to_array(const cv::Mat& mat) {
  require(!mat.empty() && mat.dims == 2, "to_array: expected a matrix of two dimensions, got ",
          mat.empty() ? "an empty one" : concat(mat.dims));
  require(mat.isContinuous(), "to_array: the matrix is part of another: its rows are ",
          static_cast<std::size_t>(mat.step), " bytes apart and hold ", mat.cols * mat.elemSize(),
          "; clone() it first");
  auto owner = std::make_shared<cv::Mat>(mat);
  TensorType type{{mat.rows, mat.cols, mat.channels()}, dtype_of_depth(mat.depth())};
  return Array(type, owner->data, owner);
}

}  // namespace belfry::data
