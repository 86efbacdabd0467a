#pragma once
// Whether hooks that run the model while it trains leave training as it is.

#include <functional>
#include <memory>

#include "../framework/train/training_testing.h"
#include "belfry/data/data.h"
#include "belfry/hooks/updates.h"

namespace belfry::hooks {

/// All that a stray run could disturb: random numbers, drawn in every mode and in training alone,
/// moving statistics, an optimizer's slots.
inline EstimatorSpec with_state(Scope s, const Batch& batch, Mode mode) {
  bool training = mode == Mode::train;
  Tensor x = batch_norm(s / "norm", dense(s / "hidden", batch["x"], {.units = 16}),
                        {.training = training});
  Tensor y =
      dense(s / "line", dropout(s, relu(x), {.rate = 0.5f, .training = training}), {.units = 1});
  y = y + 0.1f * random_normal(s / "noise", {batch.rows(), 1});
  if (mode == Mode::predict) return {.predictions = {{"y", y}}};
  return {.loss = mean(mean_squared_error(y, batch["y"])), .train = adam()};
}

/// Batches of 4 of 18 points, in random order and at random places, over and over.
inline Dataset shuffled_points() {
  auto read = [](std::int64_t i, Features& out) {
    float x = static_cast<float>(i) / 4 - 2;
    out = {{"x", Array::of({x})}, {"y", Array::of({x * x})}};
  };
  auto jitter = [](Features point, PhiloxStream& random) {
    point.set("x", Array::of({point.at("x").span<float>()[0] + random.uniform(-0.1f, 0.1f)}));
    return point;
  };
  return data::indexed(18, read) | data::shuffle(10) | data::map(jitter, {.workers = 2})
         | data::batch(4) | data::repeat() | data::prefetch();
}

/// Trains with_state() on shuffled_points(), on one tower and on two, with moving averages, with
/// the hook and without: all variables must be the same to the bit, and so must be the place in the
/// data.
inline void expect_undisturbed(
    const std::function<std::shared_ptr<Hook>(Estimator& watched)>& hook) {
  for (auto devices : {std::vector<std::string>{"cpu:0"}, {"cpu:0", "cpu:1"}}) {
    RunConfig run = quiet();
    run.devices = devices;
    TemporaryFolder here, there;
    Estimator watched({.model_fn = with_state, .model_dir = here.path(), .run = run});
    Estimator alone({.model_fn = with_state, .model_dir = there.path(), .run = run});
    auto averages = [] { return moving_average({.decay = 0.5}); };
    watched.train(shuffled_points(), {.max_steps = 7, .hooks = {averages(), hook(watched)}});
    alone.train(shuffled_points(), {.max_steps = 7, .hooks = {averages()}});
    Checkpoint with = *load_latest_checkpoint(here.path()),
               without = *load_latest_checkpoint(there.path());
    EXPECT_EQ(with.step, 7);
    EXPECT_EQ(with.seed, without.seed);
    EXPECT_EQ(with.input, without.input);
    ASSERT_EQ(watched.variable_names(), alone.variable_names());
    EXPECT_THAT(watched.variable_names(),
                testing::IsSupersetOf({"norm/moving_variance", "hidden/kernel/adam/m",
                                       "hidden/kernel/moving_average"}));
    for (const std::string& name : alone.variable_names()) {
      EXPECT_TRUE(identical(watched.variable_value(name), alone.variable_value(name))) << name;
      EXPECT_TRUE(identical(with.variables.at(name), without.variables.at(name))) << name;
    }
  }
}

}  // namespace belfry::hooks
