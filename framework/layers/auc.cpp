#include "belfry/framework/layers/metric_support.h"

namespace belfry {
namespace {

// Evenly spaced in [0, 1]; the first lets all through and the last nothing.
Array threshold_values(int count) {
  constexpr double margin = 1e-7;
  Array out(Shape{1, count}, DType::f64);
  auto values = out.span<double>();
  for (int i = 0; i < count; ++i) values[static_cast<std::size_t>(i)] = i / (count - 1.0);
  values.front() -= margin;
  values.back() += margin;
  return out;
}

// Of threshold_counts() over everything.
Array area(std::span<const double> state) {
  std::size_t count = state.size() / 2 - 1;
  double positives = state[2 * count], negatives = state[2 * count + 1];
  auto recall = [&](double tp) { return positives > 0 ? tp / positives : 1; };
  auto fall_out = [&](double fp) { return layers::ratio(fp, negatives); };
  double x = fall_out(negatives), y = recall(positives), sum = 0;
  auto go_to = [&](double next_x, double next_y) {
    sum += (x - next_x) * (y + next_y) / 2;
    x = next_x, y = next_y;
  };
  for (std::size_t i = 0; i < count; ++i) go_to(fall_out(state[count + i]), recall(state[i]));
  go_to(0, recall(0));
  return Array::scalar(sum);
}

}  // namespace

Metric auc(Tensor labels, Tensor probabilities, AucOptions o) {
  require(o.thresholds >= 2, "auc: thresholds must be at least 2, got ", o.thresholds);
  return {.state = layers::threshold_counts("auc", labels, probabilities,
                                            threshold_values(o.thresholds), o.weights),
          .value = area};
}

}  // namespace belfry
