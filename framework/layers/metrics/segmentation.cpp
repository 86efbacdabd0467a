#include "belfry/framework/layers/metrics/metric_support.h"
#include "belfry/framework/ops/math.h"

namespace belfry {
namespace {

Array mean_over_classes(std::span<const double> counts, std::size_t classes) {
  double sum = 0, present = 0;
  for (std::size_t c = 0; c < classes; ++c) {
    double row = 0, column = 0, both = counts[c * classes + c];
    for (std::size_t i = 0; i < classes; ++i) {
      row += counts[c * classes + i];
      column += counts[i * classes + c];
    }
    double either = row + column - both;
    if (either == 0) continue;
    sum += both / either;
    ++present;
  }
  return Array::scalar(layers::ratio(sum, present));
}

}  // namespace

Metric mean_iou(Tensor labels, Tensor predictions, ConfusionOptions o) {
  Tensor state = layers::confusion_state("mean_iou", labels, predictions, o);
  std::size_t classes = o.classes;
  return {.state = state, .value = [classes](std::span<const double> counts) {
            return mean_over_classes(counts, classes);
          }};
}

Metric dice(Tensor labels, Tensor probabilities, BinaryMetricOptions o) {
  auto b = layers::binary("dice", labels, probabilities, o);
  Tensor right = layers::only(logical_and(b.prediction, b.label), b.weight) * 2;
  Tensor wrong = layers::only(not_equal(b.prediction, b.label), b.weight);
  return layers::fraction(right, wrong);
}

}  // namespace belfry
