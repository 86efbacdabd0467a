#include <algorithm>
#include <cmath>

#include "belfry/framework/layers/metrics/metric_support.h"
#include "belfry/framework/layers/metrics/metrics.h"

namespace belfry {
namespace {

// Evenly spaced from 0 to 1. What is above the next number below one of them is not below it.
Array threshold_values(int count) {
  Array out(Shape{1, count}, DType::f64);
  auto values = out.span<double>();
  for (int i = 0; i < count; ++i) values[i] = std::nextafter(i / (count - 1.0), -1.0);
  return out;
}

// The curve of the state that threshold_counts() has summed over everything.
Array curve(std::span<const double> state) {
  std::size_t count = state.size() / 2 - 1;
  double positives = state[2 * count], negatives = state[2 * count + 1];
  Array out(Shape{6, static_cast<std::int64_t>(count)}, DType::f64);
  auto rows = out.span<double>();
  for (std::size_t i = 0; i < count; ++i) {
    double tp = state[i], fp = state[count + i], fn = positives - tp;
    auto quotient = [&](double others) { return tp / std::max(1e-7, tp + others); };
    std::size_t row = 0;
    for (double number : {tp, fp, negatives - fp, fn, quotient(fp), quotient(fn)})
      rows[row++ * count + i] = number;
  }
  return out;
}

}  // namespace

Metric pr_curve(Tensor labels, Tensor probabilities, PrCurveOptions o) {
  require(o.thresholds >= 2, "pr_curve: thresholds must be at least 2, got ", o.thresholds);
  return {.state = layers::threshold_counts("pr_curve", labels, probabilities,
                                            threshold_values(o.thresholds), o.weights),
          .value = curve};
}

}  // namespace belfry
