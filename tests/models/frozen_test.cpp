#include "belfry/models/frozen.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "../framework/base/error_of.h"
#include "../framework/base/temporary_folder.h"
#include "belfry/framework/ops/autocast.h"
#include "belfry/framework/runtime/evaluate.h"
#include "belfry/models/gan/gan.h"
#include "belfry/models/images/lenet.h"
#include "models_support.h"

namespace belfry::models {
namespace {

using ::testing::HasSubstr;

// A classifier of 8 x 8 images that has learnt for two steps.
struct FrozenModel : ::testing::Test {
  FrozenModel() {
    RunConfig run = quiet();
    run.save_checkpoint = Steps(100);
    Estimator classifier({.model_fn = network, .model_dir = folder.path(), .run = run});
    classifier.train(images, {.steps = 2});
    for (const Features& row : classifier.predict(images)) {
      expected.push_back(row.at("features").clone());
      if (expected.size() == 4) break;
    }
  }

  void expect_features(const Array& found) const {
    double largest = 0;
    for (std::int64_t i = 0; i < 20; ++i) {
      double wanted = expected[static_cast<std::size_t>(i / 5)].at(i % 5);
      EXPECT_NEAR(found.at(i), wanted, 1e-6);
      largest = std::max(largest, wanted);
    }
    EXPECT_GT(largest, 0.05);  // of which bf16 would keep three digits
  }

  TemporaryFolder folder;
  ModelFn network = lenet({.classes = 3, .hidden = 5});
  InputFn images = random_images({4, 8, 8, 1}, 3);
  std::vector<Array> expected;
};

Array images_of(const InputFn& input_fn) {
  Features batch;
  input_fn()->next(batch);
  return batch.at("image");
}

TEST_F(FrozenModel, PredictsWhatTheModelDoes) {
  Frozen frozen({.model_fn = network, .checkpoint = folder.path()});
  Graph graph;
  Tensor image = constant(graph, images_of(images));
  Tensor features = frozen(image).at("features");
  Tensor gradient = gradients(sum(features), std::vector{image})[0];
  EXPECT_TRUE(graph.variables().empty());
  auto found = evaluate({features, gradient});
  expect_features(found[0]);
  double length = 0;
  for (float g : found[1].span<float>()) length += std::abs(g);
  EXPECT_GT(length, 0);
}

TEST_F(FrozenModel, AMissingPredictionIsNamed) {
  Frozen frozen({.model_fn = network, .checkpoint = checkpoint_path(folder.path(), 2)});
  Graph graph;
  Frozen::Predictions found = frozen(constant(graph, images_of(images)));
  EXPECT_TRUE(found.contains("features"));
  EXPECT_FALSE(found.contains("featurs"));
  EXPECT_EQ(error_of([&] { found.at("featurs"); }),
            "frozen: there is no prediction `featurs`; the model has class, probabilities, "
            "features");
}

// Around it operands of products are rounded to bf16.
TEST_F(FrozenModel, ComputesInF32) {
  Frozen frozen({.model_fn = network, .checkpoint = folder.path()});
  Graph graph;
  graph.set_input_rule(autocast(DType::bf16));
  Tensor features = frozen(constant(graph, images_of(images))).at("features");
  EXPECT_TRUE(graph.mixed_precision());
  expect_features(evaluate({features})[0]);
}

// In the evaluation of a GAN that was trained without it.
TEST_F(FrozenModel, IsNoPartOfTheModelAroundIt) {
  Frozen frozen({.model_fn = network, .checkpoint = folder.path()});
  gan::GanOptions options{
      .generator =
          [](Scope s, const Batch& batch, Mode) {
            Tensor z = random_normal(s, {batch.rows(), 4});
            return reshape(dense(s / "out", z, {.units = 64}), {batch.rows(), 8, 8, 1});
          },
      .discriminator = [](Scope s, Tensor x, const Batch&,
                          Mode) { return dense(s / "logit", flatten(x), {.units = 1}); },
      .metrics = [&](const gan::GanModel& m, const Batch&) -> NamedMetrics {
        return {{"feature", mean_metric(frozen(m.real).at("features"))}};
      }};
  gan::GanEstimator estimator({options, folder.path() + "/gan", quiet()});
  estimator.train(images, {.steps = 1});
  double mean = 0;
  for (const Array& row : expected)
    for (float f : row.span<float>()) mean += f / 20;
  EXPECT_NEAR(estimator.evaluate(images, {.steps = 1}).at("feature"), mean, 1e-5);
  for (const std::string& name : estimator.variable_names())
    EXPECT_THAT(name, testing::Not(HasSubstr("conv1")));
}

TEST_F(FrozenModel, WhatTheCheckpointLacksIsNamed) {
  Graph graph;
  Tensor image = constant(graph, images_of(images));
  auto with = [&](ModelFn model) {
    return error_of([&] { Frozen({.model_fn = model, .checkpoint = folder.path()})(image); });
  };
  EXPECT_THAT(
      with(lenet({.classes = 3, .hidden = 6})),
      HasSubstr("frozen: the newest checkpoint in " + folder.path()
                + " has variable `fc1/kernel` as f32[256, 5] but the model asks for f32[256, 6]; "
                  "give the model_fn that was trained"));
  EXPECT_THAT(
      with([](Scope s, const Batch& b, Mode) -> EstimatorSpec {
        return {.predictions = {{"y", dense(s / "other", flatten(b["image"]), {.units = 1})}}};
      }),
      HasSubstr(
          "frozen: the newest checkpoint in " + folder.path()
          + " has no variable `other/kernel`, which the model asks for; give the model_fn that "
            "was trained"));
  EXPECT_THAT(with([](Scope, const Batch& b, Mode) -> EstimatorSpec {
                return {.predictions = {{"y", b["sound"]}}};
              }),
              HasSubstr("unknown feature `sound`"));
  EXPECT_THAT(
      error_of([&] { Frozen({.model_fn = network, .checkpoint = folder.path() + "/none"}); }),
      HasSubstr("/none"));
  TemporaryFolder empty;
  EXPECT_THAT(error_of([&] { Frozen({.model_fn = network, .checkpoint = empty.path()}); }),
              HasSubstr("there is no checkpoint at `" + empty.path() + "`"));
}

}  // namespace
}  // namespace belfry::models
