// Covers gradient hooks in steps of several sub-steps.
#include "../framework/train/training_testing.h"
#include "belfry/hooks/hooks.h"

namespace belfry::hooks {
namespace {

// Sub-steps g, g, d: g falls by the mean of a batch's x, d by ten times that.
EstimatorSpec two_updates(Scope s, const Batch& batch, Mode) {
  Variable g = s.variable("g", {}), d = s.variable("d", {});
  Tensor x = mean(batch["x"]);
  Tensor g_loss = g.value() * x, d_loss = d.value() * x * 10;
  return {.loss = d_loss,
          .train = {minimize(g_loss, sgd({.learning_rate = 1}), {g}),
                    minimize(d_loss, sgd({.learning_rate = 1}), {d})},
          .round = {{.updates = {0}}, {.updates = {0}}, {.updates = {1}}}};
}

struct HooksInRounds : testing::Test {
  void train(InputFn input, const std::shared_ptr<Hook>& hook) {
    estimator.train(std::move(input), {.steps = 2, .hooks = {hook}});
  }
  double value(std::string_view name) { return scalar(estimator, name); }

  TemporaryFolder dir;
  Estimator estimator{{.model_fn = two_updates, .model_dir = dir.path(), .run = quiet()}};
};

TEST_F(HooksInRounds, AveragesMoveWithTheUpdatesOfTheirOwnVariables) {
  std::vector<Features> batches;
  for (int i = 1; i <= 6; ++i) batches.push_back(one_point(static_cast<float>(i)));
  train(once(batches), moving_average({.decay = 0.5}));
  // g is -1, -3, -7, -12 and d is -30, -90; an average begins with the first value.
  EXPECT_EQ(value("g"), -12);
  EXPECT_EQ(value("d"), -90);
  EXPECT_EQ(value("g/moving_average"), ((-1 - 3) / 2. - 7) / 4 - 6);
  EXPECT_EQ(value("d/moving_average"), (-30 - 90) / 2);
}

TEST_F(HooksInRounds, MicroBatchesOfEverySubStepAddUp) {
  std::vector<Features> batches;
  for (int i = 1; i <= 6; ++i) {
    auto x = static_cast<float>(i);
    batches.push_back(points({x - 1, x, x + 1}, {0, 0, 0}));
  }
  train(once(batches), accumulate(3));
  EXPECT_EQ(value("g"), -12);
  EXPECT_EQ(value("d"), -90);
}

}  // namespace
}  // namespace belfry::hooks
