#pragma once
// Predictions of one batch.

#include <memory>

#include "belfry/framework/framework.h"

namespace belfry::bench {

/// The predictions of the model for the batch, by name.
inline NamedArrays predict_batch(Estimator& estimator, const Features& batch) {
  struct Once final : InputStream {
    explicit Once(const Features& features) : batch(features) {}
    bool next(Features& out) override {
      if (done) return false;
      out = batch;
      return done = true;
    }
    const Features& batch;
    bool done = false;
  };
  InputFn input = [&]() -> InputStreamPtr { return std::make_unique<Once>(batch); };
  Features predictions;
  estimator.predict(input, {.single_examples = false}).next(predictions);
  return {predictions.begin(), predictions.end()};
}

}  // namespace belfry::bench
