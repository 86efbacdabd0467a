// The values that towers make of variables of each kind; numbers worked out by hand.

#include "towers_testing.h"

namespace belfry {
namespace {

// x has rows 1 .. 5: two towers take 1 2 3 and 4 5, whose means are 2 and 4.5.
const Features five{{"x", Array::of({1.0f, 2.0f, 3.0f, 4.0f, 5.0f})}};

EstimatorSpec of_every_kind(Scope s, const Batch& batch, Mode) {
  Tensor found = mean(batch["x"]);
  for (OverTowers kind : {OverTowers::mirrored, OverTowers::first, OverTowers::sum,
                          OverTowers::mean, OverTowers::per_tower}) {
    Variable v =
        s.variable(to_string(kind), {.kind = VariableKind::statistic, .over_towers = kind});
    assign(v, v + found);
  }
  Variable w = s.variable("w", {.initializer = constant_value(1)});
  return {.loss = mean(w.value() * batch["x"]), .train = sgd({.learning_rate = 0.125})};
}

std::vector<double> values_of(Estimator& e, const std::vector<std::string>& names) {
  std::vector<double> out;
  for (const std::string& name : names) out.push_back(scalar(e, name));
  return out;
}

const std::vector<std::string> kinds{"mirrored", "first", "sum", "mean", "per_tower"};

TEST(VariableKinds, MergeAsTheySay) {
  CapturedLog log;
  TemporaryFolder folder;
  RunConfig config = saving_every(100);
  config.devices = on(2).devices;
  auto make = [&] {
    return Estimator({.model_fn = of_every_kind, .model_dir = folder.path(), .run = config});
  };
  {
    Estimator estimator = make();
    estimator.train(over_and_over({five}), {.max_steps = 2});
    EXPECT_THAT(values_of(estimator, kinds), testing::ElementsAre(6, 4, 13, 6.5, 4));
    EXPECT_EQ(scalar(estimator, "w"), 1 - 2 * 0.125 * 3);
    EXPECT_EQ(estimator.train(over_and_over({five}), {.steps = 1}).global_step, 3);  // once a step
  }
  Estimator again = make();  // from the checkpoint of step 3
  EXPECT_THAT(values_of(again, kinds), testing::ElementsAre(9, 6, 19.5, 9.75, 6));
  EXPECT_EQ(scalar(again, "per_tower/tower_1"), 13.5);
  again.train(over_and_over({five}), {.max_steps = 4});
  EXPECT_THAT(values_of(again, kinds), testing::ElementsAre(12, 8, 26, 13, 8));
  EXPECT_EQ(scalar(again, "per_tower/tower_1"), 18);
  EXPECT_EQ(scalar(again, "mean/tower_0"), 8);
}

TEST(VariableKinds, OnAnotherNumberOfTowers) {
  CapturedLog log;
  TemporaryFolder folder;
  RunConfig config = saving_every(100);
  auto model = [](bool own) {
    return [own](Scope s, const Batch& batch, Mode) -> EstimatorSpec {
      Tensor found = mean(batch["x"]);
      for (OverTowers kind : {OverTowers::sum, OverTowers::mean, OverTowers::per_tower}) {
        if (kind == OverTowers::per_tower && !own) continue;
        Variable v =
            s.variable(to_string(kind), {.kind = VariableKind::statistic, .over_towers = kind});
        assign(v, v + found);
      }
      Variable w = s.variable("w", {.initializer = constant_value(1)});
      return {.loss = mean(w.value() * batch["x"]), .train = sgd()};
    };
  };
  config.devices = on(2).devices;
  Estimator({.model_fn = model(true), .model_dir = folder.path(), .run = config})
      .train(over_and_over({five}), {.max_steps = 2});
  config.devices = on(1).devices;
  Estimator one({.model_fn = model(false), .model_dir = folder.path(), .run = config});
  one.train(over_and_over({five}), {.max_steps = 3});
  EXPECT_THAT(values_of(one, {"sum", "mean"}), testing::ElementsAre(16, 9.5));
  config.devices = on(3).devices;
  Estimator three({.model_fn = model(true), .model_dir = folder.path(), .run = config});
  EXPECT_THAT(error_of([&] { three.train(over_and_over({five}), {.max_steps = 4}); }),
              testing::HasSubstr("has the values of 2 towers for variable `per_tower`, which "
                                 "differs from tower to tower; there are 3 now"));
}

// Rows 0 2 4 and 10 20: means 2 and 15, variances (by n - 1) 4 and 50.
TEST(VariableKinds, MovingStatisticsAreTheTowersMean) {
  CapturedLog log;
  TemporaryFolder folder;
  Features batch{{"x", Array::of({0.0f, 2.0f, 4.0f, 10.0f, 20.0f}, Shape{5, 1})}};
  ModelFn model = [](Scope s, const Batch& b, Mode mode) -> EstimatorSpec {
    Tensor y = batch_norm(s / "norm", b["x"], {.training = mode == Mode::train, .momentum = 0.5});
    return {.loss = mean(y * b["x"]), .train = sgd({.learning_rate = 0})};
  };
  Estimator estimator({.model_fn = model, .model_dir = folder.path(), .run = on(2)});
  estimator.train(once({batch}), {});
  EXPECT_FLOAT_EQ(static_cast<float>(scalar(estimator, "norm/moving_mean")), 3.6f);
  EXPECT_FLOAT_EQ(static_cast<float>(scalar(estimator, "norm/moving_variance")), 11.7f);
}

}  // namespace
}  // namespace belfry
