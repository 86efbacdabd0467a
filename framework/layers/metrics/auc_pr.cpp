#include <algorithm>
#include <cmath>

#include "belfry/framework/base/fields.h"
#include "belfry/framework/layers/metrics/metric_support.h"

namespace belfry {
namespace {

// The weight of the examples that are predicted to be true at a threshold.
struct Found {
  double right, all;
};

// The weight of true labels in it, divided by the weight of all.
double precision_of(const Found& f) { return f.all > 0 ? f.right / f.all : 1; }

// The integral of precision over `right` between two thresholds, along which the weight that is
// right and that of all fall linearly: right = slope * all + intercept.
double careful_area(const Found& from, const Found& to) {
  double right = from.right - to.right, all = from.all - to.all;
  if (all <= 0) return 0;
  double slope = right / all, intercept = to.right - slope * to.all;
  double logarithm = to.all > 0 ? std::log(from.all / to.all) : 0;  // or the intercept is 0
  return slope * (right + intercept * logarithm);
}

double area_between(const Found& from, const Found& to, Summation summation) {
  double width = from.right - to.right, a = precision_of(from), b = precision_of(to);
  switch (summation) {
    case Summation::careful_interpolation:
      return careful_area(from, to);
    case Summation::trapezoidal:
      return width * (a + b) / 2;
    case Summation::minoring:
      return width * std::min(a, b);
    case Summation::majoring:
      return width * std::max(a, b);
  }
  no_such_value(summation);
}

// The area of the curve that `state`, summed over all batches by threshold_counts(), describes.
Array area(std::span<const double> state, Summation summation) {
  std::size_t count = state.size() / 2 - 1;
  auto at = [&](std::size_t i) { return Found{state[i], state[i] + state[count + i]}; };
  double sum = 0;
  for (std::size_t i = 0; i + 1 < count; ++i) sum += area_between(at(i), at(i + 1), summation);
  return Array::scalar(layers::ratio(sum, state[2 * count]));
}

}  // namespace

Metric auc_pr(Tensor labels, Tensor probabilities, AucPrOptions o) {
  Array thresholds = layers::thresholds_of_areas("auc_pr", o.thresholds);
  return {.state = layers::threshold_counts("auc_pr", labels, probabilities, thresholds, o.weights),
          .value = [summation = o.summation](std::span<const double> state) {
            return area(state, summation);
          }};
}

}  // namespace belfry
