// Covers vgg, mobilenet and mlp: parameters as published, and a step of training each.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "../framework/base/error_of.h"
#include "belfry/models/models.h"
#include "models_support.h"

namespace belfry::models {
namespace {

using ::testing::HasSubstr;

std::int64_t for_imagenet(const ModelFn& model) {
  return parameter_count(model, random_images({1, 224, 224, 3}, 1000));
}

// The numbers of torchvision's models of these names.
TEST(Vgg, HasThePublishedParameters) {
  EXPECT_EQ(for_imagenet(vgg({.layers = 11})), 132'863'336);
  EXPECT_EQ(for_imagenet(vgg({.layers = 13})), 133'047'848);
  EXPECT_EQ(for_imagenet(vgg()), 138'357'544);
  EXPECT_EQ(for_imagenet(vgg({.layers = 19})), 143'667'240);
  EXPECT_EQ(for_imagenet(vgg({.batch_norm = true})), 138'365'992);
}

TEST(MobilenetV2, HasThePublishedParameters) { EXPECT_EQ(for_imagenet(mobilenet_v2()), 3'504'872); }

// Stages of 16, 8, 16, 24 (of 22.4, which 16 would be less than nine tenths of), 32, 56, 112; the
// last 1280.
TEST(MobilenetV2, WidthsAreMultiplesOfEight) {
  Graph graph;
  Batch batch(graph, {{"image", {{1, 64, 64, 3}, DType::f32}}});
  mobilenet_v2({.width = 0.35})(Scope(graph), batch, Mode::predict);
  auto filters = [&](const char* name) { return graph.find_variable(name)->output().shape[3]; };
  EXPECT_EQ(filters("stem/conv/kernel"), 16);
  EXPECT_EQ(filters("block1/narrow/conv/kernel"), 8);
  EXPECT_EQ(filters("block7/narrow/conv/kernel"), 24);
  EXPECT_EQ(filters("block17/narrow/conv/kernel"), 112);
  EXPECT_EQ(filters("last/conv/kernel"), 1280);
}

TEST(Mlp, HasTheParametersOfItsLayers) {
  EXPECT_EQ(parameter_count(mlp({.hidden = {30, 20}}), random_images({2, 4, 4, 1}, 10)),
            17 * 30 + 31 * 20 + 21 * 10);
}

TEST(Models, LearnAFewImagesByHeart) {
  Optimizer small_steps = adam({.learning_rate = 1e-3});
  struct Case {
    const char* name;
    ModelFn model;
  };
  for (const auto& [name, model] :
       {Case{"vgg", vgg({.layers = 11,
                    .classes = 2,
                    .batch_norm = true,
                    .hidden = 16,
                    .dropout = 0,
                    .optimizer = small_steps})},
        Case{"mobilenet",
             mobilenet_v2({.classes = 2, .width = 0.25, .dropout = 0, .optimizer = small_steps})},
        Case{"mlp", mlp({.classes = 2, .optimizer = small_steps})}}) {
    Estimator estimator({.model_fn = model, .model_dir = new_folder(), .run = quiet()});
    InputFn images = random_images({4, 32, 32, 3}, 2);
    double before = estimator.train(images, {.steps = 1}).loss;
    double after = estimator.train(images, {.steps = 15}).loss;
    EXPECT_LT(after, before / 2) << name;
  }
}

TEST(Models, WhatDoesNotFitIsRefused) {
  EXPECT_THAT(error_of([] { vgg({.layers = 15}); }), HasSubstr("there are 11, 13, 16 and 19"));
  EXPECT_THAT(error_of([] { mobilenet_v2({.width = 0}); }),
              HasSubstr("mobilenet_v2: width is 0; it must be above 0"));
}

}  // namespace
}  // namespace belfry::models
