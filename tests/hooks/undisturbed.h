#pragma once
// Whether hooks that run the model while it trains leave training as it is.

#include <functional>
#include <memory>

#include "../framework/train/training_testing.h"

namespace belfry::hooks {

/// All that a stray run could disturb: random numbers, moving statistics, an optimizer's slots.
inline EstimatorSpec with_state(Scope s, const Batch& batch, Mode mode) {
  bool training = mode == Mode::train;
  Tensor x = batch_norm(s / "norm", dense(s / "hidden", batch["x"], {.units = 16}),
                        {.training = training});
  Tensor y =
      dense(s / "line", dropout(s, relu(x), {.rate = 0.5f, .training = training}), {.units = 1});
  if (mode == Mode::predict) return {.predictions = {{"y", y}}};
  return {.loss = mean(mean_squared_error(y, batch["y"])), .train = adam()};
}

/// Trains with_state() on one tower and on two, with the hook and without: all variables must be
/// the same to the bit.
inline void expect_undisturbed(
    const std::function<std::shared_ptr<Hook>(Estimator& watched)>& hook) {
  for (auto devices : {std::vector<std::string>{"cpu:0"}, {"cpu:0", "cpu:1"}}) {
    RunConfig run = quiet();
    run.devices = devices;
    TemporaryFolder here, there;
    Estimator watched({.model_fn = with_state, .model_dir = here.path(), .run = run});
    Estimator alone({.model_fn = with_state, .model_dir = there.path(), .run = run});
    InputFn rows = over_and_over({points({1, 0, 3, -1}, {1, 1, 0, 2})});
    watched.train(rows, {.max_steps = 5, .hooks = {hook(watched)}});
    alone.train(rows, {.max_steps = 5});
    ASSERT_EQ(watched.variable_names(), alone.variable_names());
    EXPECT_THAT(watched.variable_names(),
                testing::IsSupersetOf({"norm/moving_variance", "hidden/kernel/adam/m"}));
    for (const std::string& name : alone.variable_names())
      EXPECT_TRUE(identical(watched.variable_value(name), alone.variable_value(name))) << name;
  }
}

}  // namespace belfry::hooks
