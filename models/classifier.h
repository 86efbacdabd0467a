#pragma once
// The spec that the classifiers of this folder share.

#include "belfry/framework/framework.h"

namespace belfry::models {

/// The spec that multi_class_head() makes of these logits [n, classes]: mean cross-entropy with
/// `batch["label"]` [n], predictions "class" and "probabilities", metrics "accuracy" and
/// "average_loss".
EstimatorSpec classifier_spec(Tensor logits, const Batch& batch, Mode mode,
                              const Optimizer& optimizer);

}  // namespace belfry::models
