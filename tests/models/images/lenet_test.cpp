#include "belfry/models/images/lenet.h"

#include <gmock/gmock.h>

#include "../models_support.h"

namespace belfry::models {
namespace {

// conv1 5*5*1*32 + 32, conv2 5*5*32*64 + 64, fc1 7*7*64*1024 + 1024, fc2 1024*10 + 10.
TEST(Lenet, HasTheParametersOfItsLayers) {
  EXPECT_EQ(parameter_count(lenet(), random_images({2, 28, 28, 1}, 10)),
            832 + 51'264 + 3'212'288 + 10'250);
}

TEST(Lenet, ClassesAreAnOption) {
  EXPECT_EQ(parameter_count(lenet({.classes = 3}), random_images({2, 28, 28, 1}, 3)),
            832 + 51'264 + 3'212'288 + 3'075);
}

TEST(Lenet, LearnsAFewImagesByHeart) {
  Estimator estimator(
      {.model_fn = lenet({.dropout = 0}), .model_dir = new_folder(), .run = quiet()});
  InputFn images = random_images({4, 12, 12, 1}, 2);
  double before = estimator.train(images, {.steps = 1}).loss;
  double after = estimator.train(images, {.steps = 30}).loss;
  EXPECT_LT(after, before / 10);
  EXPECT_EQ(estimator.evaluate(images, {.steps = 1}).at("accuracy"), 1);
}

TEST(Lenet, PredictsClassesAndTheirProbabilities) {
  Estimator estimator({.model_fn = lenet(), .model_dir = new_folder(), .run = quiet()});
  InputFn images = random_images({3, 12, 12, 1}, 10);
  estimator.train(images, {.steps = 1});
  Features prediction;
  ASSERT_TRUE(estimator.predict(images).next(prediction));
  EXPECT_EQ(prediction.at("class").type(), (TensorType{Shape{}, DType::i64}));
  ASSERT_EQ(prediction.at("probabilities").type(), (TensorType{Shape{10}, DType::f32}));
  double total = 0, largest = 0;
  for (std::int64_t i = 0; i < 10; ++i) {
    double p = prediction.at("probabilities").at(i);
    total += p;
    largest = std::max(largest, p);
  }
  EXPECT_NEAR(total, 1, 1e-6);
  auto winner = static_cast<std::int64_t>(prediction.at("class").item());
  EXPECT_EQ(prediction.at("probabilities").at(winner), largest);
}

}  // namespace
}  // namespace belfry::models
