// Slots in fewer bits in a training: what the plan says of them, exact resume, and what they cost
// in accuracy. The formats are tested in tests/framework/ops/update/update_state_test.cpp.

#include "belfry/data/data.h"
#include "comparing.h"

namespace belfry {
namespace {

using ::testing::HasSubstr;

constexpr OptimizerState packed_states[] = {OptimizerState::bf16, OptimizerState::eight_bits};

// 784 * 64 + 64 + 64 * 10 + 10 = 50,890 parameters, of which the first 50,176 are one kernel.
ModelFn perceptron(const Optimizer& optimizer) {
  return [=](Scope s, const Batch& batch, Mode) -> EstimatorSpec {
    Tensor hidden = relu(dense(s / "hidden", flatten(batch["image"]), {.units = 64}));
    Tensor logits = dense(s / "logits", hidden, {.units = 10});
    return {.loss = mean(sparse_softmax_cross_entropy(logits, batch["label"])), .train = optimizer};
  };
}

Dataset digits(std::int64_t count) {
  return data::drawn_digits({.count = count}) | data::cache() | data::shuffle(4000)
         | data::batch(32) | data::repeat();
}

std::string plan_with(const std::string& model_dir, const Optimizer& optimizer) {
  Estimator estimator(
      {.model_fn = perceptron(optimizer), .model_dir = model_dir, .run = saving_nothing()});
  return estimator.plan(digits(64), {.steps = 1});
}

// Two slots: 2 * 4 * 50,890 = 407,120 bytes; half of that; in eight bits the large kernel is 196
// blocks of 260 bytes, 2 * (196 * 260 + 4 * 714) = 107,632. One slot: half of each.
TEST(TrainingWithState, ThePlanTellsItsBytes) {
  TemporaryFolder folder;
  auto expect = [&](const Optimizer& optimizer, const std::string& bytes) {
    EXPECT_THAT(plan_with(folder.path(), optimizer), HasSubstr("optimizer slots " + bytes + ","));
  };
  expect(adam(), "397.6 KiB");
  expect(adam({.state = OptimizerState::bf16}), "198.8 KiB");
  expect(adamw({.state = OptimizerState::eight_bits}), "105.1 KiB");
  expect(momentum(), "198.8 KiB");
  expect(momentum({.state = OptimizerState::bf16}), "99.4 KiB");
  expect(momentum({.state = OptimizerState::eight_bits}), "52.6 KiB");
}

void train(const std::string& model_dir, const Optimizer& optimizer, std::int64_t steps) {
  Estimator({.model_fn = perceptron(optimizer), .model_dir = model_dir, .run = quiet()})
      .train(digits(100), {.steps = steps});
}

Checkpoint checkpoint(const TemporaryFolder& folder, std::int64_t step) {
  return load_checkpoint(checkpoint_path(folder.path(), step));
}

TEST(TrainingWithState, GoesOnToTheBit) {
  for (OptimizerState state : packed_states)
    for (const Optimizer& optimizer : {momentum({.state = state}), adam({.state = state})}) {
      TemporaryFolder whole, parts;
      train(whole.path(), optimizer, 7);
      for (std::int64_t steps : {3, 1, 3}) train(parts.path(), optimizer, steps);
      Checkpoint a = checkpoint(whole, 7), b = checkpoint(parts, 7);
      ASSERT_EQ(a.variables.size(), b.variables.size());
      for (const auto& [name, value] : a.variables)
        EXPECT_TRUE(identical(value, b.variables.at(name))) << optimizer.name << " " << name;
    }
}

// Where variables are central one tower rounds for both; where they are mirrored each does, and no
// tower's row of the batch may come into it.
TEST(TrainingWithState, TowersRoundAlike) {
  for (OptimizerState state : packed_states) {
    RunConfig mirrored = on_cpus(2, 1), central = on_cpus(2, 1);
    central.variables = VariablePlacement::central;
    ModelFn model = perceptron(adam({.state = state}));
    expect_identical(variables_after(model, mirrored, digits(100), 5),
                     variables_after(model, central, digits(100), 5));
  }
}

TEST(TrainingWithState, ACheckpointOfAnotherStateIsAnError) {
  TemporaryFolder folder;
  train(folder.path(), adam(), 1);
  EXPECT_THAT(
      error_of([&] { train(folder.path(), adam({.state = OptimizerState::eight_bits}), 1); }),
      HasSubstr("`hidden/kernel/adam/m` is f32[784, 64], the model asks for u8[196, 260]"));
}

// The mean over some runs, of the loss of 2000 digits that no step has seen. Single runs with Adam
// differ by up to 2.6 %, in both directions.
double held_out_loss(const Optimizer& optimizer, std::uint64_t seeds) {
  static const Dataset train = digits(20'000);
  static const Dataset others = data::drawn_digits({.split = data::Split::test, .count = 2000})
                                | data::cache() | data::batch(500);
  double sum = 0;
  for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
    RunConfig run = saving_nothing();
    run.seed = seed;
    run.threads = 1;  // steps are short: threads would mostly wait for each other
    Estimator estimator({.model_fn = perceptron(optimizer), .run = run});
    estimator.train(train, {.steps = 1000});
    sum += estimator.evaluate(others).at("loss");
  }
  return sum / static_cast<double>(seeds);
}

TEST(TrainingWithState, TheLossOfMomentumAfterAThousandStepsIsThatOfFloats) {
  auto loss = [](OptimizerState state) {
    Schedule rate = cosine_decay({.initial = 0.01, .decay_steps = 1000});
    return held_out_loss(momentum({.learning_rate = rate, .state = state}), 1);
  };
  double expected = loss(OptimizerState::as_variable);
  for (OptimizerState state : packed_states)
    EXPECT_NEAR(loss(state), expected, 0.01 * expected) << to_string(state);
}

TEST(TrainingWithState, TheLossOfAdamAfterAThousandStepsIsThatOfFloats) {
  auto loss = [](OptimizerState state) {
    Schedule rate = cosine_decay({.initial = 0.001, .decay_steps = 1000});
    return held_out_loss(adam({.learning_rate = rate, .state = state}), 4);
  };
  double expected = loss(OptimizerState::as_variable);
  for (OptimizerState state : packed_states)
    EXPECT_NEAR(loss(state), expected, 0.01 * expected) << to_string(state);
}

}  // namespace
}  // namespace belfry
