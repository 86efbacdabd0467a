#include "belfry/data/formats/opencv_call.h"

#include <new>
#include <opencv2/core.hpp>

namespace belfry::data {

void opencv_call(const std::function<void()>& body) {
  try {
    body();
  } catch (const cv::Exception& error) {
    if (error.code == cv::Error::StsNoMem) throw std::bad_alloc();
    throw;
  }
}

}  // namespace belfry::data
