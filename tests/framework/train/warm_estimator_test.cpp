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
                  0);
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

// A checkpoint that an Estimator of TensorFlow 2.15 wrote, and what it predicted.
TEST(WarmStartFromTensorFlow, PredictsTheSame) {
  const std::string folder = BELFRY_SOURCE_DIR "/tests/framework/tensor/tensorflow";
  NamedArrays features = load_safetensors(folder + "/predictions.safetensors").tensors;
  Array expected = features.at("logits");
  CapturedLog log;
  Estimator estimator(
      {.model_fn = tensorflows,
       .run = quiet(),
       .warm_start = WarmStart{
           .from = folder, .names = {{"norm/scale", "norm/gamma"}, {"norm/offset", "norm/beta"}}}});
  InputFn input = once({{{"image", features.at("image")}, {"word", features.at("word")}}});
  std::int64_t row = 0;
  for (const Features& prediction : estimator.predict(input)) {
    const Array& logits = prediction.at("logits");
    for (std::int64_t i = 0; i < 4; ++i)
      EXPECT_NEAR(logits.at(i), expected.at(4 * row + i), 1e-5) << "row " << row;
    ++row;
  }
  EXPECT_EQ(row, 5);
  EXPECT_THAT(log.info, AllOf(HasSubstr("9 loaded (2 renamed, 0 converted), 0 mismatched, 0 new"),
                              HasSubstr("loaded      norm/scale f32[3] from norm/gamma\n")));
}

}  // namespace
}  // namespace belfry
