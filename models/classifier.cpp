#include "belfry/models/classifier.h"

#include "belfry/models/heads.h"

namespace belfry::models {

EstimatorSpec classifier_spec(Tensor logits, const Batch& batch, Mode mode,
                              const Optimizer& optimizer) {
  return multi_class_head({.classes = logits.size(-1)})(logits, batch, mode, optimizer);
}

}  // namespace belfry::models
