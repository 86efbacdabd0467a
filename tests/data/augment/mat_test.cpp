#include "belfry/data/augment/mat.h"

#include "augment/images.h"
#include "belfry/data/opencv.h"

namespace belfry::data {
namespace {

TEST(View, SharesTheElements) {
  Array array = numbered({2, 3, 2});
  cv::Mat mat = view(array);
  EXPECT_EQ(mat.rows, 2);
  EXPECT_EQ(mat.cols, 3);
  EXPECT_EQ(mat.type(), CV_32FC2);
  EXPECT_EQ(mat.at<cv::Vec2f>(1, 2), cv::Vec2f(11, 12));
  mat.at<cv::Vec2f>(0, 1)[1] = 40;
  EXPECT_EQ(array.at(3), 40);
}

// A view of a temporary would be of memory that is gone.
template <class T>
constexpr bool can_view = requires(T array) {
  view(static_cast<T>(array));
};
static_assert(can_view<Array&> && can_view<const Array&>);
static_assert(!can_view<Array&&> && !can_view<const Array&&>);

TEST(View, KnowsFourTypesAndBothRanks) {
  Array bytes = numbered({4, 5}, DType::u8), ints = numbered({4, 5, 3}, DType::i32),
        doubles = numbered({1, 1, 512}, DType::f64);
  EXPECT_EQ(view(bytes).type(), CV_8UC1);
  EXPECT_EQ(view(bytes).at<std::uint8_t>(3, 4), 20);
  EXPECT_EQ(view(ints).type(), CV_32SC3);
  EXPECT_EQ(view(ints).at<cv::Vec3i>(3, 4), cv::Vec3i(58, 59, 60));
  EXPECT_EQ(view(doubles).type(), CV_64FC(512));
  const Array& constant = bytes;
  EXPECT_EQ(view(constant).data, bytes.raw());
}

TEST(View, RefusesOtherTypesAndShapes) {
  auto error = [](Array array) { return error_of([&] { view(array); }); };
  EXPECT_EQ(error(numbered({4}, DType::u8)),
            "view: a matrix is [h, w] or [h, w, c] with elements, got u8[4]");
  EXPECT_EQ(error(numbered({4, 0})),
            "view: a matrix is [h, w] or [h, w, c] with elements, got f32[4, 0]");
  EXPECT_EQ(error(numbered({1, 1, 513}, DType::u8)),
            "view: a matrix has at most 2147483647 rows and columns and 512 channels, got "
            "[1, 1, 513]");
  EXPECT_EQ(error(numbered({4, 2}, DType::i64)),
            "view: a matrix has elements u8, i32, f32 or f64, not i64; cast() the array first");
  EXPECT_THAT(error(Array()), ::testing::StartsWith("view: a matrix is [h, w] or [h, w, c]"));
}

TEST(ToArray, SharesTheElementsAndKeepsThemAlive) {
  Array array;
  {
    cv::Mat mat(2, 2, CV_32SC2, cv::Scalar(3, 4));
    array = to_array(mat);
    mat.at<cv::Vec2i>(1, 1)[0] = 9;
  }
  EXPECT_EQ(array.type(), (TensorType{{2, 2, 2}, DType::i32}));
  EXPECT_EQ(values_of<std::int32_t>(array), (std::vector<std::int32_t>{3, 4, 3, 4, 3, 4, 9, 4}));
  EXPECT_FALSE(array.exclusive());
}

TEST(ToArray, KnowsFourTypes) {
  for (int type : {CV_8UC2, CV_32SC1, CV_32FC3, CV_64FC1}) {
    cv::Mat mat(2, 3, type, cv::Scalar(5, 6, 7));
    Array array = to_array(mat);
    EXPECT_EQ(view(array).type(), type);
    EXPECT_EQ(array.at(0), 5);
  }
}

TEST(ToArray, RefusesOtherMatrices) {
  auto error = [](const cv::Mat& mat) { return error_of([&] { to_array(mat); }); };
  EXPECT_EQ(error(cv::Mat()), "to_array: expected a matrix of two dimensions, got an empty one");
  EXPECT_EQ(error(cv::Mat({2, 2, 2}, CV_8U)),
            "to_array: expected a matrix of two dimensions, got 3");
  EXPECT_EQ(error(cv::Mat(4, 4, CV_8U)(cv::Rect(0, 0, 2, 4))),
            "to_array: the matrix is part of another: its rows are 4 bytes apart and hold 2; "
            "clone() it first");
  EXPECT_EQ(error(cv::Mat(4, 4, CV_16U)),
            "to_array: the matrix has elements of OpenCV's depth 2, expected CV_8U, CV_32S, CV_32F "
            "or CV_64F; convertTo() one of them first");
}

}  // namespace
}  // namespace belfry::data
