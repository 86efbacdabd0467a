#include "belfry/models/tables/baseline.h"

#include <gmock/gmock.h>

#include <cmath>

#include "../../framework/base/error_of.h"
#include "../models_support.h"

namespace belfry::models {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

EvalResult learnt(const BaselineOptions& o, const Features& batch, std::int64_t steps) {
  Estimator estimator({.model_fn = baseline(o), .model_dir = new_folder(), .run = quiet()});
  estimator.train(one_batch(batch, true), {.steps = steps});
  return estimator.evaluate(one_batch(batch));
}

TEST(Baseline, LearnsHowFrequentAClassIs) {
  Features batch{{"x", Array::of({9.f, 9.f, 9.f, 9.f})}, {"label", Array::of({1, 1, 0, 1})}};
  EvalResult r = learnt({}, batch, 400);
  EXPECT_NEAR(r.at("prediction/mean"), 0.75, 1e-3);
  EXPECT_NEAR(r.at("loss"), -0.75 * std::log(0.75) - 0.25 * std::log(0.25), 1e-5);
  EXPECT_EQ(r.at("accuracy"), r.at("accuracy_baseline"));
  EXPECT_NEAR(r.at("auc"), 0.5, 1e-9);
}

// With a rate of 1/4 one step of the squared error goes half the way: from 0 to 3/2.
TEST(Baseline, LearnsTheMean) {
  BaselineOptions o{.head = regression_head(), .optimizer = sgd({.learning_rate = 0.25})};
  Features batch{{"label", Array::of({1.f, 5.f})}};
  EXPECT_NEAR(learnt(o, batch, 1).at("prediction/mean"), 1.5, 1e-6);
  EXPECT_NEAR(learnt(o, batch, 40).at("loss"), 4, 1e-6);
}

TEST(Baseline, PredictsTheSameForAllRows) {
  BaselineOptions o{.head = multi_class_head({.classes = 3}),
                    .optimizer = sgd({.learning_rate = 1})};
  Estimator estimator({.model_fn = baseline(o), .model_dir = new_folder(), .run = quiet()});
  estimator.train(one_batch({{"label", Array::of({2, 2, 0})}}, true), {.steps = 1});
  EXPECT_THAT(estimator.variable_names(), ElementsAre("baseline/bias"));
  Features out;
  estimator.predict(one_batch({{"x", Array::zeros({4, 2})}}), {.single_examples = false}).next(out);
  ASSERT_EQ(out.at("probabilities").shape(), (Shape{4, 3}));
  // The bias is minus the gradient, (1, 0, 2) / 3 - 1/3.
  double total = std::exp(0) + std::exp(-1.0 / 3) + std::exp(1.0 / 3);
  for (std::int64_t row = 0; row < 4; ++row) {
    EXPECT_EQ(out.at("class").at(row), 2);
    EXPECT_NEAR(out.at("probabilities").at(3 * row + 1), std::exp(-1.0 / 3) / total, 1e-6);
  }
}

TEST(Baseline, NeedsAHead) {
  EXPECT_THAT(error_of([] { baseline({.head = {}}); }), HasSubstr("baseline: there is no head"));
}

}  // namespace
}  // namespace belfry::models
