#include "belfry/framework/layers/metric_support.h"
#include "belfry/framework/ops/math.h"
#include "belfry/framework/ops/reduce.h"

namespace belfry {

Metric sparse_categorical_accuracy(Tensor labels, Tensor logits, Tensor weights) {
  constexpr std::string_view name = "sparse_categorical_accuracy";
  layers::require_classes(name, labels, logits);
  Tensor right = equal(cast(labels, DType::i64), argmax(logits, -1));
  return layers::weighted_mean(name, right, weights);
}

}  // namespace belfry
