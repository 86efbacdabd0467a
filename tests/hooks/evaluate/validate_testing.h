#pragma once
// Trainings with validate().

#include <memory>
#include <string>

#include "../../framework/train/training_testing.h"
#include "belfry/hooks/evaluate/validate.h"

namespace belfry::hooks {

// w falls from 8 by 1/4 a step, and so does the loss. "distance" is |w - 7|: 1/4 at step 3, 0 at
// step 4, 1/4 at step 5, ...
inline EstimatorSpec passing_seven(Scope s, const Batch& batch, Mode mode) {
  EstimatorSpec spec = falling(s, batch, mode);
  Tensor w = s.shared().variable("w", {.initializer = constant_value(8)});
  spec.metrics = {{"distance", mean_metric(abs(w - 7))}};
  return spec;
}

struct ValidateTest : testing::Test {
  EstimatorOptions options(RunConfig run = quiet()) const {
    return {.model_fn = passing_seven, .model_dir = dir.path(), .run = run};
  }
  TrainResult train(Estimator& estimator, EvalSpec spec, std::int64_t max_steps) const {
    spec.input_fn = once({one_point()});
    return estimator.train(input, {.max_steps = max_steps, .hooks = {validate(estimator, spec)}});
  }
  /// The error that is thrown here comes after the checkpoint of that step and before best.json, as
  /// a kill would.
  void kill_at(std::int64_t step, EvalSpec spec) const {
    spec.input_fn = once({one_point()});
    struct Dies final : CheckpointListener {
      explicit Dies(std::int64_t s) : last(s) {}
      void after_save(HookContext& context, const std::string&) override {
        if (context.step() == last) fail("killed");
      }
      std::int64_t last;
    };
    Estimator killed(options(saving_every(100)));
    EXPECT_THAT(error_of([&] {
                  killed.train(input, {.max_steps = 8,
                                       .hooks = {validate(killed, spec)},
                                       .listeners = {std::make_shared<Dies>(step)}});
                }),
                testing::HasSubstr("killed"));
  }
  TemporaryFolder dir;
  InputFn input = over_and_over({one_point()});
};

}  // namespace belfry::hooks
