#include "belfry/models/classifier.h"

namespace belfry::models {

EstimatorSpec classifier_spec(Tensor logits, const Batch& batch, Mode mode,
                              const Optimizer& optimizer) {
  Tensor guess = argmax(logits, -1);
  if (mode == Mode::predict)
    return {.predictions = {{"class", guess}, {"probabilities", softmax(logits)}}};
  Tensor label = batch["label"];
  return {.loss = mean(sparse_softmax_cross_entropy(logits, label)),
          .train = optimizer,
          .metrics = {{"accuracy", accuracy(label, guess)}}};
}

}  // namespace belfry::models
