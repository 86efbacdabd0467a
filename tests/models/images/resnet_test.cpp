#include "belfry/models/images/resnet.h"

#include <gtest/gtest.h>

#include "../models_support.h"

namespace belfry::models {
namespace {

// Stem 3*3*3*64; a block of f filters on i channels: 9*i*f + 9*f*f, and i*f where it projects; two
// numbers a channel for each norm; head 512*10 + 10.
TEST(Resnet18, HasTheParametersOfItsLayers) {
  std::int64_t convolutions = 3 * 9 * 64;
  std::int64_t norms = 2 * 64;
  std::int64_t channels = 64;
  for (std::int64_t filters : {64, 64, 128, 128, 256, 256, 512, 512}) {
    convolutions += 9 * channels * filters + 9 * filters * filters;
    norms += 4 * filters;
    if (filters != channels) {
      convolutions += channels * filters;
      norms += 2 * filters;
    }
    channels = filters;
  }
  std::int64_t all = convolutions + norms + 5'130;
  EXPECT_EQ(all, 11'173'962);
  EXPECT_EQ(parameter_count(resnet18(), random_images({2, 32, 32, 3}, 10)), all);
}

// The number that torchvision gives for its resnet50.
TEST(Resnet50, HasTheParametersOfItsLayers) {
  EXPECT_EQ(parameter_count(resnet50(), random_images({1, 224, 224, 3}, 1000)), 25'557'032);
}
TEST(Resnet34, HasTheParametersOfItsLayers) {
  InputFn images = random_images({1, 224, 224, 3}, 1000);
  EXPECT_EQ(parameter_count(resnet34({.classes = 1000}), images), 21'797'672);
  EXPECT_EQ(parameter_count(resnet18({.classes = 1000}), images), 11'689'512);
}

TEST(Resnet50, TheStemGoesWithTheImagesUnlessItIsNamed) {
  InputFn small = random_images({1, 32, 32, 3}, 1000);
  EXPECT_EQ(parameter_count(resnet50(), small), 25'557'032 - 49 * 192 + 9 * 192);
  EXPECT_EQ(parameter_count(resnet50({.classes = 1000, .stem = ResnetStem::large}), small),
            25'557'032);
}

TEST(Resnet18, LearnsAFewImagesByHeart) {
  Estimator estimator(
      {.model_fn = resnet18({.classes = 2, .optimizer = momentum({.learning_rate = 0.01})}),
       .model_dir = new_folder(),
       .run = quiet()});
  InputFn images = random_images({4, 8, 8, 3}, 2);
  double before = estimator.train(images, {.steps = 1}).loss;
  double after = estimator.train(images, {.steps = 20}).loss;
  EXPECT_LT(after, before / 2);
}

TEST(Resnet18, KeepsMovingStatistics) {
  Estimator estimator({.model_fn = resnet18({.batch_norm_momentum = 0}),
                       .model_dir = new_folder(),
                       .run = quiet()});
  InputFn images = random_images({2, 8, 8, 3}, 10);
  estimator.train(images, {.steps = 1});
  Array variance = estimator.variable_value("stem/norm/moving_variance");
  ASSERT_EQ(variance.shape(), Shape{64});
  for (std::int64_t c = 0; c < 64; ++c) EXPECT_NE(variance.at(c), 1);
}

}  // namespace
}  // namespace belfry::models
