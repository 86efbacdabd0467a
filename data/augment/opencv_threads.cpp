// OpenCV shares out large images over threads of its own, beside those that a pipeline was given:
// an arena as wide as the machine for each process. Here it computes on the thread that calls it.
#include <opencv2/core/utility.hpp>

namespace belfry::data {
namespace {

// When the program starts, so that decoding is covered too, and so that main() has the last word.
struct OneThread {
  OneThread() { cv::setNumThreads(1); }
};
const OneThread one_thread;

}  // namespace
}  // namespace belfry::data
