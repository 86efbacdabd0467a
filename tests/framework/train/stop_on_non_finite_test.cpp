// Covers the steps that it ignores; hook_test.cpp has the others, in whole trainings.
#include <limits>

#include "belfry/framework/train/built_in_hooks.h"
#include "training_testing.h"

namespace belfry {
namespace {

class NoContext final : public HookContext {
 public:
  std::int64_t step() const override { return 0; }
  bool data_ended() const override { return false; }
  const RunConfig& config() const override { fail("no configuration"); }
  const std::string& model_dir() const override { fail("no folder"); }
  Variables& variables() override { fail("no variables"); }
  void request_stop(std::string) override { fail("no stop"); }
  std::string save_checkpoint() override { fail("no checkpoints"); }
};

TEST(StopOnNonFinite, IgnoresStepsThatAppliedNothing) {
  NoContext context;
  auto hook = stop_on_non_finite();
  std::vector<std::pair<std::string, double>> values{{"ratio", std::nan("")}};
  auto after = [&](double loss, UpdateSet applied) {
    return error_of([&] {
      hook->after_step(
          {.context = context, .step = 3, .loss = loss, .values = values, .applied = applied});
    });
  };
  double infinity = std::numeric_limits<double>::infinity();
  EXPECT_EQ(after(infinity, {}), "no error");
  EXPECT_EQ(after(1, {}), "no error");
  EXPECT_THAT(after(infinity, {1}), ::testing::StartsWith("the loss is infinite after step 3;"));
  EXPECT_THAT(after(1, {0}), ::testing::StartsWith("ratio is NaN after step 3;"));
}

TEST(StopOnNonFinite, MayOnlyWarnOnceUntilAllIsFiniteAgain) {
  NoContext context;
  CapturedLog log;
  auto hook = stop_on_non_finite(false);
  double nan = std::nan("");
  for (double loss : {nan, nan, 1.0, 1.0, nan})
    hook->after_step({.context = context, .step = 3, .loss = loss});
  constexpr const char* line =
      "the loss is NaN after step 3; a smaller learning rate or gradient clipping may help; "
      "RunConfig::check_numerics names the first op that produced it\n";
  EXPECT_EQ(log.warnings, std::string(line) + line);
}

// The loss of the second of four steps is NaN, and nothing is learnt from it here.
TEST(StopOnNonFinite, ATrainingGoesOnWhereItOnlyWarns) {
  CapturedLog log;
  ModelFn model = [](Scope s, const Batch& batch, Mode) -> EstimatorSpec {
    Tensor w = s.variable("w", {.initializer = constant_value(8)});
    return {.loss = mean(w + stop_gradient(batch["x"])), .train = sgd({.learning_rate = 1})};
  };
  float nan = std::nanf("");
  InputFn input = once({one_point(), one_point(nan), one_point(), one_point()});
  for (bool fails : {true, false}) {
    TemporaryFolder dir;
    RunConfig run = quiet();
    run.fail_on_non_finite = fails;
    Estimator estimator({.model_fn = model, .model_dir = dir.path(), .run = run});
    std::int64_t steps = 0;
    std::string error = error_of([&] { steps = estimator.train(input).steps; });
    EXPECT_EQ(steps, fails ? 0 : 4);
    EXPECT_THAT(fails ? error : log.warnings,
                ::testing::HasSubstr("the loss is NaN after step 2;"));
  }
}

TEST(StopOnNonFinite, StepsApplyTheirUpdatesUnlessTold) {
  NoContext context;
  EXPECT_THAT(
      error_of([&] {
        stop_on_non_finite()->after_step({.context = context, .step = 3, .loss = std::nan("")});
      }),
      ::testing::StartsWith("the loss is NaN after step 3;"));
}

}  // namespace
}  // namespace belfry
