#include "belfry/framework/base/file.h"
#include "belfry/framework/tensor/safetensors.h"
#include "training_testing.h"

namespace belfry {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

// The source of `falling` (training_testing.h), whose w is 8 at first.
struct WarmEstimator : ::testing::Test {
  WarmEstimator() { save_safetensors(source, {{"w", Array::scalar(3.0f)}}); }
  EstimatorOptions options(RunConfig run = quiet()) {
    return {.model_fn = falling,
            .model_dir = folder / "model",
            .run = std::move(run),
            .warm_start = WarmStart{.from = source}};
  }
  TemporaryFolder folder;
  const std::string source = folder / "source.safetensors";
};

// Each step takes 1/4 from w.
TEST_F(WarmEstimator, TrainingBeginsWithTheValuesOnce) {
  CapturedLog log;
  {
    Estimator estimator(options());
    TrainResult result = estimator.train(over_and_over({one_point()}), {.steps = 2});
    EXPECT_EQ(result.global_step, 2);
    EXPECT_EQ(scalar(estimator, "w"), 2.5);
  }
  EXPECT_THAT(log.info, HasSubstr("warm start from " + source + ": 1 loaded"));
  EXPECT_EQ(log.info.find("warm start"), log.info.rfind("warm start"));
  EXPECT_EQ(load_checkpoint(checkpoint_path(folder / "model", 0)).variables.at("w").item(), 3);
  // There is a checkpoint now: the source is not even looked at.
  std::filesystem::remove(source);
  Estimator again(options());
  again.train(over_and_over({one_point()}), {.steps = 1});
  EXPECT_EQ(scalar(again, "w"), 2.25);
}

TEST_F(WarmEstimator, ASourceThatCouldNotBeReadIsReadTheNextTime) {
  Estimator estimator(options());
  std::filesystem::rename(source, folder / "away");
  auto train = [&] { estimator.train(over_and_over({one_point()}), {.max_steps = 1}); };
  EXPECT_THAT(error_of(train), HasSubstr(source));
  EXPECT_THAT(error_of([&] { estimator.evaluate(once({one_point()})); }), HasSubstr(source));
  std::filesystem::rename(folder / "away", source);
  EXPECT_EQ(estimator.evaluate(once({one_point()})).at("loss"), 3);
  train();
  EXPECT_EQ(scalar(estimator, "w"), 2.75);
}

TEST_F(WarmEstimator, EvaluationWithoutACheckpointToo) {
  CapturedLog log;
  Estimator estimator(options());
  EXPECT_EQ(estimator.evaluate(once({one_point()})).at("loss"), 3);
  EXPECT_EQ(estimator.evaluate(once({one_point()})).at("global_step"), 0);
  EXPECT_EQ(log.warnings, "");
  estimator.train(over_and_over({one_point()}), {.steps = 1});
  EXPECT_EQ(estimator.evaluate(once({one_point()})).at("loss"), 2.75);
}

TEST_F(WarmEstimator, ThePlanShowsTheTableAndChangesNothing) {
  Estimator estimator(options());
  EXPECT_THAT(estimator.plan(over_and_over({one_point()}), {.steps = 2}),
              HasSubstr("1 loaded (0 renamed, 0 converted), 0 mismatched, 0 new, 0 unused\n"
                        "  loaded      w f32[]\n"));
  EXPECT_TRUE(saved_steps(folder / "model").empty());
}

TEST_F(WarmEstimator, WhatCannotBeHadIsAnErrorOrKeepsItsFirstValue) {
  EstimatorOptions other = options();
  other.warm_start->names = {{"w", "v"}};
  std::string error =
      error_of([&] { Estimator(other).train(over_and_over({one_point()}), {.steps = 1}); });
  EXPECT_THAT(error, AllOf(HasSubstr("`w` cannot be taken over"),
                           HasSubstr("new         w f32[]; the source has no v")));
  EXPECT_TRUE(saved_steps(folder / "model").empty());
  other.warm_start->strict = false;
  Estimator lenient(other);
  lenient.train(over_and_over({one_point()}), {.steps = 1});
  EXPECT_EQ(scalar(lenient, "w"), 7.75);
}

TEST_F(WarmEstimator, AModelDirIsASource) {
  save_checkpoint(folder / ".",
                  {.variables = {{"w", Array::scalar(5.0f)}}, .step = 90, .input = {}, .hooks = {}},
                  {.newest = 0});
  EstimatorOptions other = options();
  other.warm_start->from = folder.path();
  Estimator estimator(other);
  EXPECT_EQ(estimator.train(over_and_over({one_point()}), {.steps = 1}).global_step, 1);
  EXPECT_EQ(scalar(estimator, "w"), 4.75);
}

// All towers have them.
TEST_F(WarmEstimator, TowersToo) {
  RunConfig run = quiet();
  run.devices = {"cpu:0", "cpu:1"};
  Estimator estimator(options(run));
  estimator.train(over_and_over({points({1, 1}, {1, 1})}), {.steps = 1});
  EXPECT_EQ(scalar(estimator, "w"), 2.75);
}

// The model of tests/bench/peers/tensorflow_checkpoint.py.
EstimatorSpec tensorflows(Scope s, const Batch& batch, Mode mode) {
  Tensor x = conv2d(s / "conv", batch["image"], {.filters = 3, .kernel = 3, .stride = 2});
  x = relu(batch_norm(s / "norm", x, {.training = mode == Mode::train, .momentum = 0.8}));
  Tensor words = embedding(s / "words", batch["word"], {.rows = 7, .width = 2});
  x = concat({reshape(x, {x.size(0), -1}), words}, 1);
  return {.predictions = {{"logits", dense(s / "head", x, {.units = 4})}}};
}

// The model of tests/bench/peers/torch_state.py.
EstimatorSpec pytorchs(Scope s, const Batch& batch, Mode mode) {
  Tensor x = conv2d(s / "conv", batch["image"], {.filters = 3, .kernel = 3});
  x = batch_norm(s / "norm", x, {.training = mode == Mode::train, .epsilon = 1e-5});
  x = depthwise_conv2d(s / "depthwise", relu(x), {.kernel = 3, .multiplier = 2});
  x = conv2d_transpose(s / "up", x, {.filters = 4, .kernel = 2, .stride = 2});
  return {.predictions = {{"logits", dense(s / "fc", reshape(x, {x.size(0), -1}), {.units = 5})}}};
}

// Begins `model` with what is in `folder` and compares its predictions with those that are there.
// Returns what was logged.
std::string compare_with(const std::string& folder, const ModelFn& model, const WarmStart& warm) {
  Features batch;
  for (const auto& [name, array] : load_safetensors(folder + "/predictions.safetensors").tensors)
    batch.set(name, array);
  CapturedLog log;
  Estimator estimator({.model_fn = model, .run = quiet(), .warm_start = warm});
  Array logits;
  for (const Features& result : estimator.predict(once({batch}), {.single_examples = false}))
    logits = result.at("logits").clone();
  const Array& expected = batch.at("logits");
  EXPECT_EQ(logits.type(), expected.type());
  for (std::int64_t i = 0; i < expected.elements(); ++i)
    EXPECT_NEAR(logits.at(i), expected.at(i), 1e-5) << i;
  return log.info;
}

// A checkpoint that an Estimator of TensorFlow 2.15 wrote, and what it predicted.
TEST(WarmStartFromElsewhere, AnEstimatorOfTensorFlowPredictsTheSame) {
  const std::string folder = BELFRY_SOURCE_DIR "/tests/framework/tensor/tensorflow";
  std::string log = compare_with(
      folder, tensorflows,
      {.from = folder, .names = {{"norm/scale", "norm/gamma"}, {"norm/offset", "norm/beta"}}});
  EXPECT_THAT(log, AllOf(HasSubstr("9 loaded (2 renamed, 0 converted), 0 mismatched, 0 new"),
                         HasSubstr("loaded      norm/scale f32[3] from norm/gamma\n")));
}

// Transposed are a convolution, a depthwise and a transposed one, and a dense layer behind an
// image.
TEST(WarmStartFromElsewhere, AModuleOfPyTorchPredictsTheSame) {
  const std::string folder = BELFRY_SOURCE_DIR "/tests/framework/train/pytorch";
  std::string log = compare_with(
      folder, pytorchs,
      {.from = folder + "/weights.safetensors",
       .renames = {{.pattern = "(.*)/(kernel|scale)", .replacement = "$1.weight"},
                   {.pattern = "(.*)/(bias|offset)", .replacement = "$1.bias"},
                   {.pattern = "norm/moving_mean", .replacement = "norm.running_mean"},
                   {.pattern = "norm/moving_variance", .replacement = "norm.running_var"}},
       .flattened = {{"fc/kernel", {4, 6, 4}}}});
  EXPECT_THAT(log, AllOf(HasSubstr("12 loaded (12 renamed, 4 converted), 0 mismatched, 0 new"),
                         HasSubstr("unused      1: norm.num_batches_tracked")));
}

}  // namespace
}  // namespace belfry
