// Training in bf16 and f16.

#include "training_testing.h"

namespace belfry {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

RunConfig in(Precision precision) {
  RunConfig config = saving_nothing();
  config.precision = precision;
  return config;
}

TEST(PrecisionOption, Bf16LearnsNearlyWhatF32Does) {
  TemporaryFolder folder;
  InputFn data = over_and_over({points({1, 2, 3, 4}, {3, 5, 7, 9})});
  auto model = [](Scope s, const Batch& batch, Mode) -> EstimatorSpec {
    Tensor x = relu(dense(s / "a", batch["x"], {.units = 16}));
    Tensor y = dense(s / "b", x, {.units = 1});
    return {.loss = mean(mean_squared_error(y, batch["y"])),
            .train = adam({.learning_rate = 0.01})};
  };
  std::vector<double> losses;
  for (Precision precision : {Precision::f32, Precision::bf16}) {
    Estimator estimator({.model_fn = model, .model_dir = folder.path(), .run = in(precision)});
    std::string plan = estimator.explain(data, Mode::train);
    bool narrow = plan.find("bf16[4, 16]") != std::string::npos;
    EXPECT_EQ(narrow, precision == Precision::bf16) << plan;
    losses.push_back(estimator.train(data, {.max_steps = 10}).loss);
    for (const std::string& name : estimator.variable_names())
      EXPECT_EQ(estimator.variable_value(name).dtype(), DType::f32) << name;
  }
  // Errors of about 4 in predictions of less than 8, which bf16 rounds by 1/64 at most.
  EXPECT_GT(losses[0], 8);
  EXPECT_NE(losses[0], losses[1]);
  EXPECT_NEAR(losses[1], losses[0], 0.01 * losses[0]);
}

TEST(PrecisionOption, PredictionsAreF32) {
  TemporaryFolder folder;
  Estimator estimator({.model_fn = linear, .model_dir = folder.path(), .run = in(Precision::bf16)});
  Features prediction;
  ASSERT_TRUE(estimator.predict(once({one_point()})).next(prediction));
  EXPECT_EQ(prediction.at("y").dtype(), DType::f32);
}

/// loss = factor * mean(x w): the gradient of x w is factor * scale / rows, in f16.
EstimatorSpec steep(Scope s, const Batch& batch, double factor) {
  Variable w = s.variable("w", {.shape = {1, 1}});
  return {.loss = mean(matmul(batch["x"], w) * factor), .train = sgd({.learning_rate = 0x1p-10})};
}

struct Applied final : Hook {
  void after_step(const StepResult& result) override {
    steps.push_back(result.applied == UpdateSet{0});
  }
  std::vector<bool> steps;
};

// 1000 * scale is infinite in f16 until the scale has come down from 2^15 to 2^6 = 64.
TEST(LossScale, IsHalvedWhereGradientsOverflowAndTheStepIsLeftOut) {
  TemporaryFolder folder;
  auto model = [](Scope s, const Batch& batch, Mode) { return steep(s, batch, 1000); };
  Estimator estimator({.model_fn = model, .model_dir = folder.path(), .run = in(Precision::f16)});
  auto applied = std::make_shared<Applied>();
  CapturedLog log;
  estimator.train(over_and_over({one_point()}), {.max_steps = 10, .hooks = {applied}});
  EXPECT_THAT(applied->steps,
              ElementsAre(false, false, false, false, false, false, false, false, false, true));
  EXPECT_EQ(estimator.variable_value("loss_scale/0").item(), 64);
  EXPECT_THAT(log.info, HasSubstr("step 1: the loss scale of `sgd` is halved to 16384\n"));
  EXPECT_THAT(log.info, HasSubstr("step 9: the loss scale of `sgd` is halved to 64\n"));
  EXPECT_EQ(estimator.variable_value("loss_scale_good_steps/0").item(), 1);
  EXPECT_EQ(estimator.variable_value("w").item(), -1000.0 / 1024);
}

TEST(LossScale, IsDoubledAfterTwoThousandGoodSteps) {
  TemporaryFolder folder;
  auto model = [](Scope s, const Batch& batch, Mode) { return steep(s, batch, 1); };
  Estimator estimator({.model_fn = model, .model_dir = folder.path(), .run = in(Precision::f16)});
  InputFn data = over_and_over({points({0.5, 0.5, 0.5, 0.5}, {0, 0, 0, 0})});
  estimator.train(data, {.max_steps = 1999});
  EXPECT_EQ(estimator.variable_value("loss_scale/0").item(), 32768);
  CapturedLog log;
  estimator.train(data, {.max_steps = 2001});
  EXPECT_EQ(log.info.find("the loss scale"), log.info.rfind("the loss scale"));
  EXPECT_THAT(log.info, HasSubstr("step 2000: the loss scale of `sgd` is doubled to 65536\n"));
  EXPECT_EQ(estimator.variable_value("loss_scale/0").item(), 65536);
  EXPECT_EQ(estimator.variable_value("loss_scale_good_steps/0").item(), 1);
  EXPECT_NEAR(estimator.variable_value("w").item(), -2001.0 / 2048, 1e-4);
}

TEST(LossScale, IsTheSameOnAllTowers) {
  TemporaryFolder folder;
  auto model = [](Scope s, const Batch& batch, Mode) { return steep(s, batch, 1000); };
  RunConfig config = in(Precision::f16);
  config.devices = {"cpu:0", "cpu:1"};
  Estimator estimator({.model_fn = model, .model_dir = folder.path(), .run = config});
  // The mean gradient over both rows: 1000 * scale / 2 is finite from a scale of 128 on.
  estimator.train(over_and_over({points({1, 1}, {0, 0})}), {.max_steps = 9});
  EXPECT_EQ(estimator.variable_value("loss_scale/0").item(), 128);
  EXPECT_EQ(estimator.variable_value("w").item(), -1000.0 / 1024);
}

// sqrt(w^2) at 0 is finite and its gradient is not. 15 steps bring the scale from 2^15 to 1.
TEST(LossScale, GradientsThatAreNotFiniteAtTheLeastScaleAreAnError) {
  TemporaryFolder folder;
  auto model = [](Scope s, const Batch&, Mode) -> EstimatorSpec {
    return {.loss = sqrt(square(s.variable("w", {}))), .train = sgd()};
  };
  Estimator estimator({.model_fn = model, .model_dir = folder.path(), .run = in(Precision::f16)});
  CapturedLog log;
  auto applied = std::make_shared<Applied>();
  EXPECT_THAT(error_of([&] {
                estimator.train(over_and_over({one_point()}),
                                {.max_steps = 50, .hooks = {applied}});
              }),
              ::testing::StartsWith("the update `sgd` was skipped in step 16 because its gradients "
                                    "are not finite, with a loss scale of 1, the least; "));
  EXPECT_EQ(applied->steps, std::vector<bool>(16));
  EXPECT_THAT(log.info, HasSubstr("step 15: the loss scale of `sgd` is halved to 1\n"));
}

// 40000 * scale is finite in f16 for a scale of 1 alone.
TEST(LossScale, AnUpdateThatAHookHoldsBackIsNoError) {
  struct Never final : Hook {
    void on_gradients(GradientStage& stage) override {
      stage.condition =
          logical_and(stage.condition, constant(stage.update.loss.graph(), 0, DType::boolean));
    }
  };
  TemporaryFolder folder;
  auto model = [](Scope s, const Batch& batch, Mode) { return steep(s, batch, 40000); };
  Estimator estimator({.model_fn = model, .model_dir = folder.path(), .run = in(Precision::f16)});
  estimator.train(over_and_over({one_point()}),
                  {.max_steps = 20, .hooks = {std::make_shared<Never>()}});
  EXPECT_EQ(estimator.variable_value("loss_scale/0").item(), 1);
  EXPECT_EQ(estimator.variable_value("loss_scale_good_steps/0").item(), 5);
}

TEST(LossScale, IsNoVariableOfTheModel) {
  TemporaryFolder folder;
  auto model = [](Scope s, const Batch& batch, Mode mode) {
    (s / "loss_scale").variable("0", {});
    return linear(s, batch, mode);
  };
  Estimator estimator({.model_fn = model, .model_dir = folder.path(), .run = in(Precision::f16)});
  std::string error =
      error_of([&] { estimator.train(over_and_over({one_point()}), {.max_steps = 1}); });
  EXPECT_THAT(error, HasSubstr("variable `loss_scale/0` exists already"));
  EXPECT_THAT(error, HasSubstr("(while making the loss scale of Precision::f16)"));
}

TEST(LossScale, IsInThePlan) {
  TemporaryFolder folder;
  Estimator estimator({.model_fn = linear, .model_dir = folder.path(), .run = in(Precision::f16)});
  EXPECT_THAT(estimator.plan(once({one_point()})),
              HasSubstr("gradients pass: average, unscale, apply\n"
                        "hooks: StopOnNonFinite, WatchLossScale\n"));
}

/// The product of many numbers, which has no fast kernel on a CPU.
EstimatorSpec multiplying(Scope s, const Batch& batch, Mode) {
  Tensor x = batch["x"] * s.variable("w", {.shape = {1}, .initializer = ones()});
  return {.loss = mean(prod(broadcast_to(x, {x.size(0), 100'000}), {.axes = {1}})),
          .train = sgd({.learning_rate = 1e-12})};
}

TEST(PrecisionOption, StepsOnReferenceKernelsAreWarnedOfOnce) {
  TemporaryFolder folder;
  for (Precision precision : {Precision::f32, Precision::bf16, Precision::f16}) {
    for (bool multiplies : {false, true}) {
      CapturedLog log;
      Estimator estimator({.model_fn = multiplies ? multiplying : linear,
                           .model_dir = folder.path() + (multiplies ? "/a" : "/b"),
                           .run = in(precision)});
      estimator.train(over_and_over({points({1, 1}, {1, 1})}), {.steps = 2});
      std::size_t first = log.warnings.find("there are only reference kernels"),
                  last = log.warnings.rfind("there are only reference kernels");
      EXPECT_EQ(first != std::string::npos, multiplies) << log.warnings;
      EXPECT_EQ(first, last) << log.warnings;
    }
  }
}

/// A model whose gradient of 1.2 MB is averaged over towers.
EstimatorSpec with_a_large_gradient(Scope s, const Batch& batch, Mode) {
  Tensor w = s.variable("w", {.shape = {1, 300'000}, .initializer = ones()});
  return {.loss = mean(square(matmul(reshape(batch["x"], {batch["x"].size(0), 1}), w))),
          .train = sgd({.learning_rate = 0.1})};
}

TEST(PrecisionOption, SumsOverTowersAreNoReferenceKernels) {
  TemporaryFolder folder;
  CapturedLog log;
  RunConfig config = in(Precision::f32);
  config.devices = {"cpu:0", "cpu:1"};
  Estimator estimator(
      {.model_fn = with_a_large_gradient, .model_dir = folder.path(), .run = config});
  estimator.train(over_and_over({points({1, 1}, {1, 1})}), {.steps = 1});
  EXPECT_EQ(log.warnings.find("reference kernels"), std::string::npos) << log.warnings;
}

TEST(PrecisionOption, IsReadFromJson) {
  RunConfig config =
      run_config_from_json(R"({"precision": "f16", "tf32": false, "capture_steps": false})");
  EXPECT_EQ(config.precision, Precision::f16);
  EXPECT_FALSE(config.tf32);
  EXPECT_FALSE(config.capture_steps);
  EXPECT_THAT(error_of([] { run_config_from_json(R"({"precision": "f8"})"); }),
              HasSubstr("must be one of f32, bf16, f16"));
}

}  // namespace
}  // namespace belfry
