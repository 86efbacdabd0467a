#include "belfry/framework/graph/scope.h"
#include "belfry/framework/layers/loss_support.h"
#include "belfry/framework/layers/losses/losses.h"
#include "belfry/framework/ops/math.h"
#include "belfry/framework/ops/movement/shape_ops.h"
#include "belfry/framework/ops/nn.h"

namespace belfry {

Tensor sigmoid_cross_entropy(Tensor logits, Tensor targets, CrossEntropyLossOptions o) {
  constexpr std::string_view name = "sigmoid_cross_entropy";
  layers::require_smoothing(name, o.label_smoothing);
  layers::require_pair(name, logits, targets);
  Tensor t = layers::smooth(targets, o.label_smoothing, 2);
  Tensor elements = t * softplus(-logits) + (1 - t) * softplus(logits);
  return layers::per_example(name, elements, o.weights);
}

Tensor weighted_sigmoid_cross_entropy(Tensor logits, Tensor targets,
                                      WeightedCrossEntropyOptions o) {
  constexpr std::string_view name = "weighted_sigmoid_cross_entropy";
  layers::require_pair(name, logits, targets);
  const std::vector<double>& w = o.positive_weight;
  require(w.size() == 1 || std::ssize(w) == logits.size(-1), name, ": there are ", w.size(),
          " positive weights for logits ", logits.type(),
          "; give one, or one for each element of the last axis");
  for (double x : w) require(x >= 0, name, ": a positive weight must be at least 0, got ", x);
  Array of_channels = Array::of(std::span<const double>(w), Shape{std::ssize(w)});
  Tensor weight = constant(logits.graph(), of_channels.cast(logits.dtype()));
  Tensor elements = targets * softplus(-logits) * weight + (1 - targets) * softplus(logits);
  return layers::per_example(name, elements, o.weights);
}

Tensor softmax_cross_entropy(Tensor logits, Tensor targets, CrossEntropyLossOptions o) {
  constexpr std::string_view name = "softmax_cross_entropy";
  layers::require_smoothing(name, o.label_smoothing);
  layers::require_pair(name, logits, targets);
  targets = layers::smooth(targets, o.label_smoothing, logits.size(-1));
  Tensor losses = -sum(targets * log_softmax(logits), {.axes = {-1}});
  return layers::weigh(name, losses, o.weights);
}

Tensor sparse_softmax_cross_entropy(Tensor logits, Tensor labels, CrossEntropyLossOptions o) {
  constexpr std::string_view name = "sparse_softmax_cross_entropy";
  layers::require_smoothing(name, o.label_smoothing);
  require(logits.rank() >= 1 && logits.size(-1) >= 1, name,
          ": logits must be [..., classes] with at least one class, got ", logits.type());
  Shape label_shape(logits.shape().sizes().first(logits.rank() - 1));
  require(labels.shape() == label_shape, name, ": labels must be ", label_shape,
          ", one for each row of logits ", logits.type(), ", got ", labels.type(),
          layers::reshape_hint(labels, label_shape));
  if (logits.rank() != 2) {
    logits = reshape(logits, Shape{label_shape.elements(), logits.size(-1)});
    labels = reshape(labels, Shape{label_shape.elements()});
  }
  Tensor losses = sparse_softmax_cross_entropy_op(logits, labels, o.label_smoothing);
  if (label_shape.rank() != 1) losses = reshape(losses, label_shape);
  return layers::weigh(name, losses, o.weights);
}

// p^gamma = exp(gamma log p), and -log p = softplus(-x).
Tensor focal_loss(Tensor logits, Tensor targets, FocalLossOptions o) {
  constexpr std::string_view name = "focal_loss";
  require(o.gamma >= 0, name, ": gamma must be at least 0, got ", o.gamma);
  require(o.alpha >= 0 && o.alpha <= 1, name, ": alpha must be in [0, 1], got ", o.alpha);
  layers::require_pair(name, logits, targets);
  Tensor minus_log_p = softplus(-logits), minus_log_q = softplus(logits);
  Tensor of_ones = exp(minus_log_q * -o.gamma) * minus_log_p * o.alpha;
  Tensor of_zeros = exp(minus_log_p * -o.gamma) * minus_log_q * (1 - o.alpha);
  return layers::per_example(name, targets * of_ones + (1 - targets) * of_zeros, o.weights);
}

}  // namespace belfry
