#include "belfry/framework/layers/metrics/metric_support.h"

namespace belfry {
namespace {

// The area under the curve of the state that threshold_counts() has summed over everything.
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
  Array thresholds = layers::thresholds_of_areas("auc", o.thresholds);
  return {.state = layers::threshold_counts("auc", labels, probabilities, thresholds, o.weights),
          .value = area};
}

}  // namespace belfry
