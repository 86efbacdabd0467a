#include "belfry/framework/layers/loss_support.h"

#include <algorithm>

#include "belfry/framework/graph/leaves.h"
#include "belfry/framework/ops/math.h"
#include "belfry/framework/ops/movement/shape_ops.h"

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

std::string reshape_hint(const Tensor& labels, const Shape& shape) {
  bool column = labels.rank() == shape.rank() + 1 && labels.size(-1) == 1
                && labels.shape().elements() == shape.elements();
  if (!column) return "";
  return shape.rank() == 1 ? "; reshape(labels, {-1}) drops the last axis"
                           : "; drop the last axis, of size 1";
}

void require_smoothing(std::string_view loss, double smoothing) {
  require(smoothing >= 0 && smoothing <= 1, loss, ": label_smoothing must be in [0, 1], got ",
          smoothing);
}

Tensor smooth(Tensor targets, double smoothing, std::int64_t classes) {
  if (smoothing == 0) return targets;
  return targets * (1 - smoothing) + smoothing / classes;
}

Tensor per_example(std::string_view loss, Tensor elements, Tensor weights) {
  std::vector<int> axes;
  for (int axis = 1; axis < elements.rank(); ++axis) axes.push_back(axis);
  return weigh(loss, axes.empty() ? elements : mean(elements, {.axes = axes}), weights);
}

Tensor fit_weights(std::string_view what, Tensor weights, const Shape& values, DType dtype) {
  auto sizes = weights.shape().sizes();
  bool fits = weights.rank() <= values.rank()
              && std::equal(sizes.begin(), sizes.end(), values.sizes().begin());
  require(fits, what, ": weights are ", weights.type(), " but must have the shape ", values,
          " or that of its leading axes");
  std::vector<std::int64_t> padded(sizes.begin(), sizes.end());
  padded.resize(values.rank(), 1);
  return cast(reshape(weights, Shape(padded)), dtype);
}

Tensor weigh(std::string_view what, Tensor values, Tensor weights) {
  if (!weights.defined()) return values;
  return values * fit_weights(what, weights, values.shape(), values.dtype());
}

Tensor full_weights(std::string_view what, Tensor weights, Tensor like) {
  Tensor fitted = weights.defined() ? fit_weights(what, weights, like.shape(), DType::f64)
                                    : constant(like.graph(), 1, DType::f64);
  return broadcast_to(fitted, like.shape());
}

}  // namespace belfry::layers
