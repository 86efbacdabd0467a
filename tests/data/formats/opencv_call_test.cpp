#include "belfry/data/formats/opencv_call.h"

#include <gtest/gtest.h>

#include <new>

#include "../../framework/base/error_of.h"
#include "belfry/data/opencv.h"
#include "belfry/framework/base/error.h"

namespace belfry::data {
namespace {

void throws(int code) { throw cv::Exception(code, "why", "where", "file", 1); }

TEST(OpenCvCall, AShortageOfMemoryIsOneForBelfryToo) {
  EXPECT_THROW(opencv_call([] { throws(cv::Error::StsNoMem); }), std::bad_alloc);
  EXPECT_THROW(opencv_call([] { throws(cv::Error::StsBadArg); }), cv::Exception);
  EXPECT_EQ(error_of([] { opencv_call([] { fail("ours"); }); }), "ours");
}

}  // namespace
}  // namespace belfry::data
