// The time of evaluations and samples, those tried out before the first step too, is no time of a
// training's steps. See record/recorder_test.cpp for what is made of it.
#include <thread>

#include "belfry/hooks/evaluate/samples.h"
#include "evaluation_testing.h"

namespace belfry {
namespace {

constexpr auto delay = std::chrono::milliseconds(20);

struct Pauses : EvaluationTest {
  /// Data that take a while to open.
  InputFn slow() const {
    return [test = test](const InputContext& context) {
      std::this_thread::sleep_for(delay);
      return test(context);
    };
  }
  /// Seconds of pauses before each of three steps, and after the last.
  struct Looks final : Hook {
    void before_step(StepRequest& request) override { note(request.context); }
    void end(HookContext& context, Outcome) override { note(context); }
    void note(const HookContext& context) { paused.push_back(context.paused_seconds()); }
    std::vector<double> paused;
  };
  /// One is tried out, and one comes after the second step and one after the third.
  static void expect_pauses(const std::vector<double>& paused) {
    double one = std::chrono::duration<double>(delay).count();
    ASSERT_EQ(paused.size(), 4u);
    EXPECT_GE(paused[0], one);
    EXPECT_EQ(paused[1], paused[0]);
    EXPECT_GE(paused[2], paused[1] + one);
    EXPECT_GE(paused[3], paused[2] + one);
  }
  std::shared_ptr<Looks> looks = std::make_shared<Looks>();
};

TEST_F(Pauses, OfValidate) {
  Estimator estimator(options());
  auto validate = hooks::validate(estimator, {.input_fn = slow(), .every = Steps(2)});
  estimator.train(input, {.max_steps = 3, .hooks = {looks, validate}});
  expect_pauses(looks->paused);
}

TEST_F(Pauses, OfSamples) {
  Estimator estimator(options());
  auto samples =
      hooks::samples(estimator, slow(), {.every = Steps(2), .receive = [](auto, auto&) {}});
  estimator.train(input, {.max_steps = 3, .hooks = {looks, samples}});
  expect_pauses(looks->paused);
}

TEST_F(Pauses, OfTrainAndEvaluate) {
  Estimator estimator(options());
  train_and_evaluate(estimator, {input, {.max_steps = 3, .hooks = {looks}}},
                     {{.input_fn = slow(), .every = Steps(2)}});
  expect_pauses(looks->paused);
}

// A fifth of a second of evaluation after each of three steps would make 5 examples a second.
TEST_F(Pauses, AreNotInTheSpeedOfTheResult) {
  Estimator estimator(options());
  InputFn slow = [test = test](const InputContext& context) {
    std::this_thread::sleep_for(std::chrono::milliseconds(200));
    return test(context);
  };
  auto validate = hooks::validate(estimator, {.input_fn = slow, .every = Steps(1)});
  TrainResult trained = estimator.train(input, {.max_steps = 3, .hooks = {validate}});
  EXPECT_GT(trained.examples_per_second, 5);
  EXPECT_GE(trained.seconds, 0.6);
}

}  // namespace
}  // namespace belfry
