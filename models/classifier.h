#pragma once
// What the classifiers of this folder share.

#include "belfry/framework/framework.h"

namespace belfry::models {

/// The spec of a classifier with these logits [n, classes]: mean cross-entropy with
/// `batch["label"]` [n], predictions "class" and "probabilities", metric "accuracy".
EstimatorSpec classifier_spec(Tensor logits, const Batch& batch, Mode mode,
                              const Optimizer& optimizer);

}  // namespace belfry::models
