// Failures in an evaluation are found before the first step, or lose no step.

#include "belfry/hooks/updates.h"
#include "evaluation_testing.h"

namespace belfry {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;

struct Failures : EvaluationTest {
  std::string error_of_training(const EvalSpec& spec, const Hooks& hooks = {},
                                EstimatorOptions with = {}) const {
    if (!with.model_fn) with = options();
    Estimator estimator(with);
    return error_of([&] {
      train_and_evaluate(estimator, {input, {.max_steps = 9, .hooks = hooks}}, {spec});
    });
  }
  EvalSpec spec(std::vector<std::string> devices = {}) const {
    return {.name = "t", .input_fn = test, .every = Steps(2), .devices = std::move(devices)};
  }
  const std::vector<std::vector<std::string>> places{{}, {"cpu:1"}};
};

TEST_F(Failures, OfAnyKindLoseNoStep) {
  EvalSpec opens = spec(), receives = spec();
  opens.input_fn = [&, opened = 0](const InputContext& context) mutable {
    if (++opened == 3) throw 7;  // after it was tried out, and step 2
    return test(context);
  };
  receives.receive = [](std::int64_t step, const EvalResult&) {
    if (step == 4) throw 7;
  };
  for (const EvalSpec& throws : {opens, receives}) {
    std::filesystem::remove_all(dir.path());
    EXPECT_THROW(train({throws}, 9), int);
    EXPECT_EQ(saved_steps(dir.path()).back(), 4);
  }
}

TEST_F(Failures, OfAnyKindBesideTrainingLoseNoStep) {
  EvalSpec opens = spec({"cpu:1"});
  opens.input_fn = [&, opened = 0](const InputContext& context) mutable {
    if (++opened == 2) throw 7;
    return test(context);
  };
  struct Last final : Hook {
    void after_step(const StepResult& result) override { step = result.step; }
    std::int64_t step = 0;
  };
  auto last = std::make_shared<Last>();
  TrainOptions long_one{.max_steps = 1'000'000, .hooks = {last}};
  Estimator estimator(options());
  EXPECT_THROW(train_and_evaluate(estimator, {input, long_one}, {opens}), int);
  EXPECT_GT(last->step, 2);
  EXPECT_EQ(saved_steps(dir.path()).back(), last->step);
}

TEST_F(Failures, OfWhoIsAskedLoseNoStep) {
  for (const auto& devices : places) {
    std::filesystem::remove_all(dir.path());
    EvalSpec asks = spec(devices);
    asks.wanted = [](std::int64_t step) -> bool { fail("nobody knows of step ", step); };
    EXPECT_THAT(error_of_training(asks), HasSubstr("(in evaluation `t`, wanted) (after training"));
    EXPECT_GE(saved_steps(dir.path()).back(), 2);
    train({}, 9);
    // Where nothing is left to do.
    EXPECT_THAT(error_of_training(asks), HasSubstr("nobody knows of step 9 (in evaluation `t`"));
  }
}

TEST_F(Failures, OfAveragesThatNobodyKeepsAreFoundBeforeTheFirstStep) {
  for (const auto& devices : places) {
    EvalSpec averaged = spec(devices);
    averaged.averaged = true;
    EXPECT_THAT(error_of_training(averaged),
                HasSubstr("evaluation `t`: averaged is set, but no variable has a moving average; "
                          "add hooks::moving_average() to TrainOptions::hooks"));
    EXPECT_THAT(saved_steps(dir.path()), IsEmpty());
  }
  // The averages of an earlier training are there.
  EvalSpec averaged = spec();
  averaged.averaged = true;
  Estimator(options()).train(input, {.max_steps = 5, .hooks = {hooks::moving_average()}});
  EXPECT_EQ(error_of_training(averaged), "no error");
}

TEST_F(Failures, OfVariablesThatAreAveragedAreFoundBeforeTheFirstStep) {
  EstimatorOptions differs = options();
  differs.model_fn = [](Scope s, const Batch& batch, Mode mode) {
    return passing_seven(mode == Mode::train ? s / "net" : s / "nets", batch, mode);
  };
  for (const auto& devices : places) {
    EvalSpec averaged = spec(devices);
    averaged.averaged = true;
    EXPECT_THAT(error_of_training(averaged, {hooks::moving_average()}, differs),
                HasSubstr("missing: `nets/w` f32[], the nearest: net/w"));
    EXPECT_THAT(saved_steps(dir.path()), IsEmpty());
  }
}

TEST_F(Failures, OfExportersAreFoundBeforeTheFirstStep) {
  EstimatorOptions differs = options();
  differs.model_fn = [](Scope s, const Batch& batch, Mode mode) {
    return passing_seven(mode == Mode::predict ? s / "nets" : s / "net", batch, mode);
  };
  ExportOptions averaged = of_x();
  averaged.averaged = true;
  for (const auto& devices : places) {
    EvalSpec exports = spec(devices);
    exports.exporters = {latest_exporter({.model = of_x()})};
    EXPECT_THAT(error_of_training(exports, {}, differs),
                HasSubstr("missing: `nets/w` f32[], the nearest: net/w"));
    exports.exporters = {latest_exporter({.model = averaged})};
    EXPECT_THAT(error_of_training(exports), HasSubstr("there are no moving averages"));
    EXPECT_THAT(saved_steps(dir.path()), IsEmpty());
  }
}

}  // namespace
}  // namespace belfry
