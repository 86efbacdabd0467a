#include "belfry/framework/layers/losses/loss_support.h"

#include "belfry/framework/layers/losses/weighting.h"
#include "belfry/framework/ops/elementwise/math.h"
#include "belfry/framework/ops/reduction/reduce.h"

namespace belfry::layers {

void require_pair(std::string_view loss, const Tensor& predictions, const Tensor& targets,
                  int rank) {
  const TensorType &p = predictions.type(), &t = targets.type();
  require(is_floating(p.dtype), loss, ": predictions must be of a floating type, got ", p);
  require(p.shape == t.shape, loss, ": predictions ", p, " and targets ", t,
          " differ in shape; reshape one of them");
  bool agree = p.dtype == t.dtype || predictions.graph().mixed_precision();
  require(agree, loss, ": predictions ", p, " and targets ", t,
          " have different dtypes; cast one of them");
  require(predictions.rank() >= rank, loss, ": predictions must have at least ", rank,
          " axes, got ", p);
}

void require_smoothing(std::string_view loss, double smoothing) {
  require(smoothing >= 0 && smoothing <= 1, loss, ": label_smoothing must be in [0, 1], got ",
          smoothing);
}

Tensor smooth(Tensor targets, double smoothing, std::int64_t classes) {
  if (smoothing == 0) return targets;
  return targets * (1 - smoothing) + smoothing / static_cast<double>(classes);
}

Tensor per_example(std::string_view loss, Tensor elements, Tensor weights) {
  std::vector<int> axes;
  for (int axis = 1; axis < elements.rank(); ++axis) axes.push_back(axis);
  return weigh(loss, axes.empty() ? elements : mean(elements, {.axes = axes}), weights);
}

}  // namespace belfry::layers
