#include "belfry/models/make.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "../framework/base/error_of.h"
#include "models_support.h"

namespace belfry::models {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;

TEST(MakeModel, FieldsComeFromJson) {
  InputFn images = random_images({2, 32, 32, 3}, 10);
  EXPECT_EQ(parameter_count(make("resnet18"), images), 11'173'962);
  EXPECT_EQ(parameter_count(make("resnet18", R"({"classes": 20})"), images), 11'173'962 + 5'130);
  EXPECT_EQ(parameter_count(make("resnet18", R"({"classes": 1000, "stem": "large"})"), images),
            11'689'512);
  EXPECT_EQ(parameter_count(make("mlp", R"({"hidden": [7], "classes": 3})"), images),
            (3072 + 1) * 7 + 8 * 3);
}

TEST(MakeModel, OptimizersHaveNames) {
  ModelFn model =
      make("mlp", R"({"optimizer": {"name": "momentum", "learning_rate": 0.5, "nesterov": true}})");
  Estimator estimator({.model_fn = model, .model_dir = testing::TempDir(), .run = quiet()});
  estimator.train(random_images({2, 4, 4, 1}, 10), {.steps = 1});
  EXPECT_THAT(estimator.variable_names(), Contains("head/kernel/momentum/accumulator"));
}

TEST(MakeModel, EveryNameMakesAModel) {
  for (const std::string& name : names()) EXPECT_TRUE(make(name)) << name;
  EXPECT_THAT(names(), Contains("resnet50"));
}

TEST(MakeModel, GansHaveTheFieldsOfTheirNetworks) {
  InputFn images = random_images({2, 8, 8, 1}, 4);
  const char* small = R"({"size": 8, "filters": 2, "noise": 3, "classes": 4, "generator_weight": 0,
                          "generator_optimizer": {"name": "sgd", "learning_rate": 0.1}})";
  // Noise and label 7 x 4 x 4 x 2, norm 2 x 2, up 16 x 2; down 16 x 2, logits 4 x 4 x 2 x 5.
  EXPECT_EQ(parameter_count(make("acgan", small), images), 224 + 4 + 32 + 32 + 160);
  const char* coded = R"({"size": 8, "filters": 2, "noise": 3, "categories": 3, "continuous": 1})";
  EXPECT_EQ(parameter_count(make("infogan", coded), images), 224 + 4 + 32 + 32 + 160);
  EXPECT_THAT(error_of([] { make("acgan", R"({"generator_weight": -1})"); }),
              HasSubstr("at least 0, got -1"));
}

TEST(MakeModel, WhatIsUnknownIsRefused) {
  EXPECT_THAT(error_of([] { make("resnet51"); }),
              HasSubstr("there is no `resnet51`; there are acgan, infogan, lenet, mlp"));
  EXPECT_THAT(
      error_of([] { make("lenet", R"({"clases": 3})"); }),
      HasSubstr(
          "lenet: there is no field `clases`; there are classes, hidden, dropout, optimizer"));
  EXPECT_THAT(error_of([] { make("lenet", R"({"classes": "ten"})"); }),
              HasSubstr("lenet: `classes` cannot be \"ten\""));
  EXPECT_THAT(error_of([] { make("lenet", R"({"classes": 2.5})"); }), HasSubstr("cannot be 2.5"));
  EXPECT_THAT(error_of([] { make("unet", R"({"batch_norm": 1})"); }), HasSubstr("cannot be 1"));
  EXPECT_THAT(error_of([] { make("lenet", R"({"optimizer": {"name": "magic"}})"); }),
              HasSubstr("the name of an optimizer (adam, adamw, momentum, rmsprop, sgd)"));
  EXPECT_THAT(error_of([] { make("lenet", R"({"optimizer": {"name": "sgd", "beta1": 1}})"); }),
              HasSubstr("lenet: sgd: there is no field `beta1`"));
  EXPECT_THAT(error_of([] { make("resnet18", R"({"stem": "tiny"})"); }),
              HasSubstr("by_size, small or large, got \"tiny\""));
  EXPECT_THAT(error_of([] { make("lenet", "{"); }), HasSubstr("are no JSON: {"));
  EXPECT_THAT(error_of([] { make("lenet", "[]"); }), HasSubstr("expected a JSON object, got []"));
}

}  // namespace
}  // namespace belfry::models
