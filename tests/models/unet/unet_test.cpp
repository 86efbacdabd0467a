#include "belfry/models/unet/unet.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "../../framework/base/error_of.h"
#include "../models_support.h"
#include "belfry/framework/ops/check_range.h"
#include "belfry/models/mask_spec.h"
#include "belfry/models/unet/unet_resnest.h"
#include "belfry/models/unet/unet_swin.h"

namespace belfry::models {
namespace {

using ::testing::HasSubstr;

// Images (or volumes) whose mask is where they are above 1/2.
InputFn masked(const Shape& shape) {
  Array image(shape, DType::f32), mask(shape, DType::f32);
  PhiloxStream random(philox_key(3, "masked"));
  for (std::size_t i = 0; i < image.span<float>().size(); ++i) {
    image.span<float>()[i] = random.uniform();
    mask.span<float>()[i] = image.span<float>()[i] > 0.5f;
  }
  return one_batch({{"image", image}, {"mask", mask}}, true);
}

// The network of the paper for one class, with borders padded.
TEST(Unet, HasThePublishedParameters) {
  EXPECT_EQ(parameter_count(unet({.batch_norm = false}), masked({1, 32, 32, 1})), 31'030'593);
}

// Levels of 2 and 4 filters, a bottom of 8; 27 taps, and 8 on the way up.
TEST(Unet3d, HasTheParametersOfItsLayers) {
  std::int64_t down = (27 * 1 * 2 + 27 * 2 * 2) + (27 * 2 * 4 + 27 * 4 * 4);
  std::int64_t bottom = 27 * 4 * 8 + 27 * 8 * 8;
  std::int64_t up =
      (8 * 8 * 4 + 4 + 27 * 8 * 4 + 27 * 4 * 4) + (8 * 4 * 2 + 2 + 27 * 4 * 2 + 27 * 2 * 2);
  std::int64_t norms = 2 * (2 + 2 + 4 + 4 + 8 + 8 + 4 + 4 + 2 + 2);
  EXPECT_EQ(parameter_count(unet3d({.depth = 2, .filters = 2}), masked({1, 4, 8, 8, 1})),
            down + bottom + up + norms + 3);
}

// Tiny ones of every kind.
std::vector<std::pair<ModelFn, InputFn>> tiny() {
  Optimizer fast = adam({.learning_rate = 0.02});
  UnetOptions plain{.depth = 1, .filters = 4, .optimizer = fast};
  return {{unet(plain), masked({2, 8, 8, 1})},
          {unet3d(plain), masked({2, 4, 4, 4, 1})},
          {unet_resnest({.blocks = {1}, .filters = 4, .decoder_filters = 8, .optimizer = fast}),
           masked({2, 8, 8, 1})},
          {unet_swin({.channels = 16,
                      .blocks = {1, 1},
                      .heads = {2, 2},
                      .window = 2,
                      .patch = 2,
                      .optimizer = adam({.learning_rate = 0.01})}),
           masked({2, 8, 8, 1})}};
}

TEST(Unet, LearnsAThreshold) {
  for (const auto& [model, input] : tiny()) {
    Estimator estimator({.model_fn = model, .model_dir = new_folder(), .run = quiet()});
    estimator.train(input, {.steps = 120});
    EvalResult result = estimator.evaluate(input, {.steps = 1});
    EXPECT_GT(result.at("dice"), 0.9);
    EXPECT_GT(result.at("background_dice"), 0.9);
    Features p;
    ASSERT_TRUE(estimator.predict(input).next(p));
    EXPECT_EQ(p.at("mask").dtype(), DType::boolean);
    EXPECT_EQ(p.at("probability").shape(), p.at("mask").shape());
  }
}

// So that nothing of the image's size goes to another device but what the way up begins with.
TEST(Unet, TheMaskIsComparedOnTheSlotOfTheLogits) {
  Graph graph;
  TensorType image{{1, 4, 4, 4, 1}, DType::f32};
  Batch batch(graph, {{"image", image}, {"mask", image}});
  ModelFn model = unet3d({.depth = 1, .filters = 1, .slot_of_way_up = 1});
  EstimatorSpec spec = model(Scope(graph) / "net", batch, Mode::train);
  EXPECT_EQ(spec.loss.node().device(), 1);
  int checks = 0;
  for (const auto& node : graph) {
    if (!node->is(check_range_op)) continue;
    ++checks;
    EXPECT_EQ(node->device(), 1);
    EXPECT_EQ(node->scope(), "net/head/mask");
  }
  EXPECT_EQ(checks, 1);
}

// Half of the mask is predicted, at a probability of 1/2 everywhere: with a threshold below it all
// of the mask counts as found, above it nothing.
TEST(MaskSpec, MeasuresWhatIsSetAndTheRest) {
  auto input = [] {
    Array image = Array::zeros({1, 2, 2, 1}), mask = Array::zeros({1, 2, 2, 1});
    mask.span<float>()[0] = 1;
    return Features{{"image", image}, {"mask", mask}};
  };
  auto results = [&](double threshold) {
    ModelFn model = [=](Scope s, const Batch& batch, Mode mode) {
      Tensor x = batch["image"] * s.variable("w", {.initializer = ones()});
      return mask_spec(s, x, batch, mode, {.threshold = threshold, .optimizer = sgd()});
    };
    Estimator estimator({.model_fn = model, .model_dir = new_folder(), .run = quiet()});
    return estimator.evaluate(one_batch(input()));
  };
  EvalResult low = results(0.4), high = results(0.6);
  EXPECT_NEAR(low.at("dice"), 2.0 / 5, 1e-12);  // 1 right, 3 wrong
  EXPECT_EQ(low.at("background_dice"), 0);
  EXPECT_EQ(high.at("dice"), 0);
  EXPECT_NEAR(high.at("background_dice"), 6.0 / 7, 1e-12);  // 3 right, 1 wrong
}

TEST(Unet, WhatDoesNotFitIsRefused) {
  auto training = [](const ModelFn& model, const InputFn& input) {
    return error_of([&] {
      Estimator estimator({.model_fn = model, .model_dir = new_folder(), .run = quiet()});
      estimator.train(input, {.steps = 1});
    });
  };
  EXPECT_THAT(training(unet({.depth = 2}), masked({1, 8, 6, 1})),
              HasSubstr("unet: axis 2 of f32[1, 8, 6, 1] is no multiple of 4"));
  EXPECT_THAT(training(unet3d({.depth = 1}), masked({1, 2, 3, 4, 1})),
              HasSubstr("unet3d: axis 2 of f32[1, 2, 3, 4, 1] is no multiple of 2"));
  EXPECT_THAT(training(unet({.depth = 1}), masked({1, 4, 8, 8, 1})), HasSubstr("2 axes, c], got"));
  EXPECT_THAT(training(unet({.depth = 1, .filters = 1}), masked({1, 8, 8, 3})),
              HasSubstr("mask_spec: the mask is f32[1, 8, 8, 3] but its image needs [1, 8, 8, 1]"));
  EXPECT_THAT(error_of([] { unet({.depth = 0}); }), HasSubstr("a depth of 0"));
  for (DType type : {DType::u8, DType::boolean})
    EXPECT_THAT(error_of([&] {
                  Graph graph;
                  Batch batch(graph, {{"image", {{1, 8, 8, 1}, DType::f32}},
                                      {"mask", {{1, 8, 8, 1}, type}}});
                  unet({.depth = 1, .filters = 1})(Scope(graph) / "net", batch, Mode::train);
                }),
                HasSubstr(concat("mask_spec: the mask must be of a floating type, got ",
                                 TensorType{{1, 8, 8, 1}, type},
                                 "; cast it first, for example by data::to_float() (at net)")));
}

}  // namespace
}  // namespace belfry::models
