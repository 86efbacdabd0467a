#include "belfry/framework/layers/loss_support.h"
#include "belfry/framework/layers/losses.h"
#include "belfry/framework/layers/weighting.h"
#include "belfry/framework/ops/nn.h"
#include "belfry/framework/ops/shape_ops.h"

namespace belfry {

Tensor sparse_softmax_cross_entropy(Tensor logits, Tensor labels, CrossEntropyLossOptions o) {
  constexpr std::string_view name = "sparse_softmax_cross_entropy";
  layers::require_smoothing(name, o.label_smoothing);
  require(logits.rank() >= 1 && logits.size(-1) >= 1, name,
          ": logits must be [..., classes] with at least one class, got ", logits.type());
  Shape places(logits.shape().sizes().first(static_cast<std::size_t>(logits.rank() - 1)));
  require(labels.shape() == places, name, ": labels must be ", places,
          ", one for each row of logits ", logits.type(), ", got ", labels.type());
  if (logits.rank() != 2) {
    logits = reshape(logits, Shape{places.elements(), logits.size(-1)});
    labels = reshape(labels, Shape{places.elements()});
  }
  Tensor losses = sparse_softmax_cross_entropy_op(logits, labels, o.label_smoothing);
  if (places.rank() != 1) losses = reshape(losses, places);
  return layers::weigh(name, losses, o.weights);
}

}  // namespace belfry
