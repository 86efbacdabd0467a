// Covers gradient hooks in whole trainings.
#include "../framework/train/training_testing.h"
#include "belfry/hooks/hooks.h"

namespace belfry::hooks {
namespace {

using testing::ElementsAre;

// Kernel and bias of `linear`, from 0, after trainings up to these steps at (1, 1): the gradients
// of the first are -2 and the rate is 1/4.
std::vector<double> trained(const Hooks& list, std::vector<std::int64_t> max_steps = {1}) {
  TemporaryFolder dir;
  EstimatorOptions options{.model_fn = linear, .model_dir = dir.path(), .run = quiet()};
  for (std::int64_t steps : max_steps)
    Estimator(options).train(over_and_over({one_point()}), {.max_steps = steps, .hooks = list});
  Estimator estimator(options);
  return {scalar(estimator, "line/kernel"), scalar(estimator, "line/bias")};
}

TEST(GradientHooksInTraining, ChangeTheStep) {
  EXPECT_THAT(trained({}), ElementsAre(0.5, 0.5));
  EXPECT_THAT(trained({clip_by_value(1)}), ElementsAre(0.25, 0.25));
  EXPECT_THAT(trained({freeze({"line/bias"})}), ElementsAre(0.5, 0));
  EXPECT_THAT(trained({learning_rates({{".*/bias", 0.5}})}), ElementsAre(0.5, 0.25));
  EXPECT_THAT(trained({unscale_gradients(4)}), ElementsAre(0.125, 0.125));
  EXPECT_THAT(trained({unscale_gradients(4), clip_by_value(0.25)}), ElementsAre(0.0625, 0.0625));
}

TEST(GradientHooksInTraining, NoiseIsTheSameWhenResumed) {
  std::vector<double> at_once = trained({gradient_noise()}, {3});
  EXPECT_NE(at_once, trained({}, {3}));
  EXPECT_EQ(at_once, trained({gradient_noise()}, {1, 3}));
}

TEST(GradientHooksInTraining, PatternsThatMatchNothingStopItAtTheBeginning) {
  for (const auto& hook : {freeze({"bias"}), learning_rates({{"bias", 2}})})
    EXPECT_THAT(error_of([&] { trained({hook}); }),
                testing::HasSubstr("`bias` matches no variable that is trained; they are "
                                   "line/bias, line/kernel"));
}

// w falls from 8 by 1/4 a step, and the loss is w: 7.75, 7.5, 7.25. Averages of it with a decay of
// 1/2, from the first: 7.75, 7.625, 7.4375.
TEST(GradientHooksInTraining, MovingAveragesAreEvaluatedByAFlag) {
  ModelFn model = [](Scope s, const Batch& batch, Mode mode) -> EstimatorSpec {
    if (mode == Mode::predict) return {.predictions = {{"w", s.variable("w", {}) * batch["x"]}}};
    return falling(s, batch, mode);
  };
  InputFn input = over_and_over({one_point()}), once_only = once({one_point()});
  for (auto devices : {std::vector<std::string>{"cpu:0"}, {"cpu:0", "cpu:1"}}) {
    TemporaryFolder dir;
    RunConfig config = quiet();
    config.devices = devices;
    EstimatorOptions options{.model_fn = model, .model_dir = dir.path(), .run = config};
    auto loss = [&](Estimator& e, bool averaged) {
      return e.evaluate(once_only, {.averaged = averaged}).at("loss");
    };
    auto average = [] { return moving_average({.decay = 0.5, .warm_up = false}); };
    Estimator estimator(options);
    estimator.train(input, {.max_steps = 2, .hooks = {average()}});
    EXPECT_EQ(loss(estimator, false), 7.5);
    EXPECT_EQ(loss(estimator, true), 7.625);
    estimator.train(input, {.max_steps = 3, .hooks = {average()}});
    EXPECT_EQ(loss(estimator, false), 7.25);
    EXPECT_EQ(loss(estimator, true), 7.4375);
    Estimator later(options);  // from the checkpoint
    EXPECT_EQ(loss(later, true), 7.4375);
    Features row;
    ASSERT_TRUE(later.predict(once_only, {.averaged = true}).next(row));
    EXPECT_EQ(row.at("w").item(), 7.4375);
  }
}

TEST(GradientHooksInTraining, AnAverageOfNothingIsNotEvaluated) {
  struct Never final : Hook {
    void before_step(StepRequest& request) override { request.chosen = {}; }
  };
  TemporaryFolder dir;
  Estimator estimator({.model_fn = falling, .model_dir = dir.path(), .run = quiet()});
  InputFn input = over_and_over({one_point()});
  auto error = [&] {
    return error_of([&] { estimator.evaluate(once({one_point()}), {.averaged = true}); });
  };
  Hooks hooks{moving_average(), std::make_shared<Never>()};
  estimator.train(input, {.steps = 1, .hooks = hooks});
  EXPECT_THAT(error(), testing::HasSubstr("no moving averages"));
  hooks.pop_back();
  estimator.train(input, {.steps = 1, .hooks = hooks});
  EXPECT_EQ(error(), "no error");
}

// b is not updated in the first step. Then a's average is 7.75, and after three 7.4375; b's, after
// two of its own, 7.625, where b is 7.5.
TEST(GradientHooksInTraining, AnAverageThatComesLaterIsEvaluatedByWhoeverReadsCheckpoints) {
  struct FirstWithoutB final : Hook {
    void before_step(StepRequest& request) override {
      if (request.step == 0) request.chosen = {0};
    }
  };
  TemporaryFolder dir;
  auto model = [](Scope s, const Batch& batch, Mode) -> EstimatorSpec {
    Variable a = s.variable("a", {.initializer = constant_value(8)}),
             b = s.variable("b", {.initializer = constant_value(8)});
    Tensor one = mean(batch["x"]), of_a = a.value() * one, of_b = b.value() * one;
    Optimizer optimizer = sgd({.learning_rate = 0.25});
    return {.loss = of_a + of_b,
            .train = Updates{minimize(of_a, optimizer, {a}), minimize(of_b, optimizer, {b})}};
  };
  EstimatorOptions options{.model_fn = model, .model_dir = dir.path(), .run = saving_every(1)};
  Estimator trains(options), reads(options);
  auto loss = [&] { return reads.evaluate(once({one_point()}), {.averaged = true}).at("loss"); };
  Hooks hooks{moving_average({.decay = 0.5}), std::make_shared<FirstWithoutB>()};
  trains.train(over_and_over({one_point()}), {.max_steps = 1, .hooks = hooks});
  EXPECT_EQ(loss(), 7.75 + 8);
  trains.train(over_and_over({one_point()}), {.max_steps = 3, .hooks = hooks});
  EXPECT_EQ(loss(), 7.4375 + 7.625);
}

}  // namespace
}  // namespace belfry::hooks
