#include "belfry/models/gan/trace_sqrt.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <opencv2/core.hpp>

namespace belfry::gan {
namespace {

bool finite(const std::vector<double>& values) {
  return std::all_of(values.begin(), values.end(), [](double v) { return std::isfinite(v); });
}

cv::Mat symmetric_sqrt(const cv::Mat& m) {
  cv::Mat values, vectors;  // vectors in rows
  cv::eigen(m, values, vectors);
  cv::Mat scaled = vectors.clone();
  for (int i = 0; i < m.rows; ++i) scaled.row(i) *= std::sqrt(std::max(values.at<double>(i), 0.0));
  return vectors.t() * scaled;
}

}  // namespace

// A B itself is not symmetric, but has the eigenvalues of A^(1/2) B A^(1/2), which is.
double trace_of_sqrt_of_product(std::vector<double> a, std::vector<double> b, std::int64_t size) {
  if (!finite(a) || !finite(b)) return std::numeric_limits<double>::quiet_NaN();
  int n = size;
  cv::Mat root = symmetric_sqrt(cv::Mat(n, n, CV_64F, a.data()));
  cv::Mat product = root * cv::Mat(n, n, CV_64F, b.data()) * root, values;
  cv::eigen((product + product.t()) * 0.5, values);
  double trace = 0;
  for (int i = 0; i < n; ++i) trace += std::sqrt(std::max(values.at<double>(i), 0.0));
  return trace;
}

}  // namespace belfry::gan
