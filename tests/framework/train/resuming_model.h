#pragma once
// A model and a pipeline with everything that must survive an interruption: dropout, slots, moving
// statistics, a schedule, shuffled and randomly altered data, a short last batch.

#include "belfry/data/data.h"
#include "belfry/framework/distribute/variables.h"
#include "belfry/framework/layers/layers.h"
#include "belfry/framework/layers/losses/losses.h"
#include "belfry/framework/layers/metrics/metrics.h"
#include "belfry/framework/ops/ops.h"
#include "belfry/framework/optimizers/optimizers.h"
#include "belfry/framework/train/checkpoint.h"
#include "belfry/framework/train/estimator.h"
#include "belfry/framework/train/model_summary.h"
#include "belfry/framework/train/predictions.h"
#include "belfry/framework/train/replicated.h"
#include "belfry/framework/train/warm_start.h"

namespace belfry {

inline EstimatorSpec resuming_model(Scope s, const Batch& batch, Mode mode) {
  bool training = mode == Mode::train;
  Tensor x = dense(s / "in", batch["x"], {.units = 16});
  x = relu(batch_norm(s / "norm", x, {.training = training}));
  x = dropout(s / "drop", x, {.rate = 0.3f, .training = training});
  Tensor logits = dense(s / "out", x, {.units = 4});
  return {.loss = mean(sparse_softmax_cross_entropy(logits, batch["label"])),
          .train = adam({.learning_rate = exponential_decay(
                             {.initial = 0.01, .decay_steps = 10, .decay_rate = 0.9})}),
          .metrics = {{"accuracy", sparse_categorical_accuracy(batch["label"], logits)}}};
}

/// 44 examples in batches of 8, over and over: x [8, 6] noise around a place that label names.
/// `workers` alter the examples.
inline Dataset shuffled_digits_of(int workers) {
  auto read = [](std::int64_t i, Features& out) {
    Array x(Shape{6}, DType::f32);
    PhiloxStream random(philox_key(3, static_cast<std::uint64_t>(i)));
    for (float& v : x.span<float>())
      v = static_cast<float>(random.normal()) + static_cast<float>(i % 4);
    out.set("x", x);
    out.set("label", Array::scalar(i % 4));
  };
  auto jitter = [](Features in, PhiloxStream& random) {
    Array x = in.at("x").clone();
    for (float& v : x.span<float>()) v += random.uniform(-0.1f, 0.1f);
    in.set("x", x);
    return in;
  };
  return data::indexed(44, read) | data::shuffle(20) | data::map(jitter, {.workers = workers})
         | data::batch(8) | data::repeat() | data::prefetch();
}
inline Dataset shuffled_digits() { return shuffled_digits_of(2); }

}  // namespace belfry
