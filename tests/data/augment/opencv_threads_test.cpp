#include "augment/images.h"
#include "belfry/data/formats/images/image.h"
#include "belfry/data/opencv.h"

namespace belfry::data {
namespace {

// So large that OpenCV would share out the work.
TEST(OpenCv, ComputesOnTheThreadThatCalls) {
  Array large = Array::zeros({1200, 1200, 3}, DType::u8);
  applied(rotate(), large);
  applied(resize({.height = 600, .width = 600}), large);
  EXPECT_EQ(cv::getNumThreads(), 1);
  decode_image(encode_png(large), {.channels = 1});
  EXPECT_EQ(cv::getNumThreads(), 1);
}

// A user may raise it: nothing here takes that back.
TEST(OpenCv, KeepsTheThreadsThatAUserAsksFor) {
  cv::setNumThreads(2);
  applied(rotate(), noise({9, 9, 1}, DType::u8));
  decode_image(encode_png(noise({9, 9, 1}, DType::u8)));
  EXPECT_EQ(cv::getNumThreads(), 2);
  cv::setNumThreads(1);
}

}  // namespace
}  // namespace belfry::data
