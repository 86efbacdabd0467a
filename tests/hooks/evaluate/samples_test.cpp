#include "belfry/hooks/evaluate/samples.h"

#include <set>

#include "../hooks_support.h"
#include "../undisturbed.h"
#include "belfry/data/data.h"
#include "belfry/hooks/updates.h"

namespace belfry::hooks {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

// w is 8 - step / 4 for data of ones. Predictions: "scaled" is w x, "drawn" are numbers that
// nothing but chance decides, "total" is one number a batch.
EstimatorSpec drawing(Scope s, const Batch& batch, Mode mode) {
  if (mode == Mode::train) return falling(s, batch, mode);
  Tensor w = s.variable("w", {.initializer = constant_value(8)});
  return {.predictions = {{"scaled", w * batch["x"]},
                          {"drawn", random_normal(s / "noise", {batch.rows(), 2})},
                          {"total", sum(batch["x"])}}};
}

std::vector<float> numbers(const Array& array) {
  auto all = array.span<float>();
  return {all.begin(), all.end()};
}

struct SamplesTest : testing::Test {
  EstimatorOptions options() const {
    return {.model_fn = drawing, .model_dir = dir.path(), .run = quiet()};
  }
  SamplesOptions keep(std::int64_t every, std::vector<std::string> keys = {"scaled", "drawn"}) {
    return {.every = Steps(every),
            .receive =
                [this](std::int64_t step, const Features& p) {
                  steps.push_back(step);
                  received.push_back(p);
                },
            .keys = std::move(keys)};
  }
  TrainResult train(Estimator& estimator, SamplesOptions o, std::int64_t max_steps,
                    const InputFn& input_of_samples) const {
    return estimator.train(
        over_and_over({one_point()}),
        {.max_steps = max_steps, .hooks = {samples(estimator, input_of_samples, std::move(o))}});
  }
  TrainResult train(Estimator& estimator, SamplesOptions o, std::int64_t max_steps) const {
    return train(estimator, std::move(o), max_steps, two_batches);
  }
  TemporaryFolder dir;
  InputFn two_batches = once({points({1, 2}, {0, 0}), points({4}, {0})});
  std::vector<std::int64_t> steps;
  std::vector<Features> received;
};

TEST_F(SamplesTest, AreOfTheEstimatorThatTrains) {
  Estimator estimator(options());
  TemporaryFolder elsewhere;
  EstimatorOptions others = options();
  others.model_dir = elsewhere.path();
  Estimator other(others);
  EXPECT_THAT(
      error_of([&] {
        estimator.train(over_and_over({one_point()}),
                        {.max_steps = 3, .hooks = {samples(other, two_batches, keep(1))}});
      }),
      HasSubstr(concat("samples: it was given the estimator of model_dir ", elsewhere.path())));
  EXPECT_THAT(steps, ElementsAre());
}

TEST_F(SamplesTest, ComeByCadenceAndAtTheLastStep) {
  Estimator estimator(options());
  train(estimator, keep(3), 7);
  EXPECT_THAT(steps, ElementsAre(3, 6, 7));
  ASSERT_EQ(received.size(), 3u);
  EXPECT_EQ(received[0].at("scaled").shape(), (Shape{3, 1}));
  EXPECT_THAT(numbers(received[0].at("scaled")), ElementsAre(7.25f, 14.5f, 29));
  EXPECT_THAT(numbers(received[1].at("scaled")), ElementsAre(6.5f, 13, 26));
  EXPECT_THAT(numbers(received[2].at("scaled")), ElementsAre(6.25f, 12.5f, 25));
}

TEST_F(SamplesTest, AreWhatPredictSays) {
  Estimator estimator(options());
  train(estimator, keep(5), 5);
  ASSERT_EQ(received.size(), 1u);
  std::int64_t row = 0;
  for (const Features& p : estimator.predict(two_batches, {.keys = {"scaled", "drawn"}})) {
    for (const auto& [name, value] : p)
      EXPECT_TRUE(identical(value, received[0].at(name).row(row))) << name << row;
    ++row;
  }
  EXPECT_EQ(row, 3);
}

TEST_F(SamplesTest, AreOfMovingAveragesIfAsked) {
  Estimator estimator(options());
  SamplesOptions o = keep(5, {"scaled"});
  o.averaged = true;
  estimator.train(over_and_over({one_point()}),
                  {.max_steps = 5,
                   .hooks = {moving_average({.decay = 0.5}), samples(estimator, two_batches, o)}});
  Features averaged, live;
  estimator.predict(two_batches, {.keys = {"scaled"}, .averaged = true}).next(averaged);
  estimator.predict(two_batches, {.keys = {"scaled"}}).next(live);
  ASSERT_EQ(received.size(), 1u);
  EXPECT_TRUE(identical(received[0].at("scaled").row(0), averaged.at("scaled")));
  EXPECT_NE(averaged.at("scaled").item(), live.at("scaled").item());
}

TEST_F(SamplesTest, DrawTheSameNumbersAtEveryStep) {
  Estimator estimator(options());
  train(estimator, keep(1), 2);
  train(estimator, keep(1), 3);
  ASSERT_EQ(received.size(), 3u);
  std::vector<float> first = numbers(received[0].at("drawn"));
  EXPECT_EQ(std::set<float>(first.begin(), first.end()).size(), 6u);
  for (const Features& p : received) EXPECT_EQ(numbers(p.at("drawn")), first);
}

TEST_F(SamplesTest, ChangeNothingOfTheTraining) {
  int calls = 0;
  expect_undisturbed([&](Estimator& watched) {
    return samples(watched, once({one_point(3)}),
                   {.every = Steps(1), .receive = [&](std::int64_t, const Features&) { ++calls; }});
  });
  EXPECT_EQ(calls, 2 * 7);
}

TEST_F(SamplesTest, GoOnAfterARestart) {
  for (std::int64_t max_steps : {4, 7}) {
    Estimator estimator(options());
    train(estimator, keep(3), max_steps);
  }
  EXPECT_THAT(steps, ElementsAre(3, 4, 6, 7));
  EXPECT_THAT(numbers(received.back().at("scaled")), ElementsAre(6.25f, 12.5f, 25));
}

TEST_F(SamplesTest, OfOneBatchMayHaveAnyShape) {
  Estimator estimator(options());
  train(estimator, keep(1, {"total"}), 1, once({points({1, 2}, {0, 0})}));
  ASSERT_EQ(received.size(), 1u);
  EXPECT_EQ(received[0].size(), 1u);
  EXPECT_EQ(received[0].at("total").item(), 3);
}

TEST_F(SamplesTest, WhatTheFunctionThrowsEndsTrainingAndLosesNoStep) {
  Estimator estimator(options());
  SamplesOptions o = keep(2);
  o.receive = [](std::int64_t step, const Features&) { fail("no room for picture ", step); };
  EXPECT_EQ(error_of([&] { train(estimator, o, 10); }),
            "no room for picture 2 (after training step 2)");
  EXPECT_EQ(saved_steps(dir.path()).back(), 2);
  o.receive = [](std::int64_t, const Features&) { throw 7; };
  EXPECT_THROW(train(estimator, o, 10), int);
  EXPECT_EQ(saved_steps(dir.path()).back(), 4);
}

TEST_F(SamplesTest, AreTriedOutBeforeTheFirstStep) {
  Estimator estimator(options());
  auto error = [&](const SamplesOptions& o, const InputFn& data) {
    return error_of([&] { train(estimator, o, 10, data); });
  };
  EXPECT_THAT(error(keep(3, {"drwan"}), two_batches),
              HasSubstr("there is no prediction `drwan`; the model has scaled, drawn, total (in "
                        "samples, tried out first)"));
  EXPECT_THAT(error(keep(3), [](const InputContext&) -> InputStreamPtr { fail("no file"); }),
              HasSubstr("no file (in samples, tried out first)"));
  Dataset endless = data::from_arrays(points({1}, {1})) | data::repeat() | data::batch(1);
  EXPECT_THAT(error(keep(3), endless), HasSubstr("samples: the data never end"));
  SamplesOptions averaged = keep(3);
  averaged.averaged = true;
  EXPECT_THAT(error(averaged, two_batches),
              HasSubstr("samples: averaged is set, but no variable has a moving average"));
  EXPECT_TRUE(saved_steps(dir.path()).empty());
}

// Each step sees w before its update: log(w - 7) is minus infinity in step 5, which ends training.
TEST_F(SamplesTest, AreNotTakenOfAStepThatIsNotFinite) {
  auto model = [](Scope s, const Batch& batch, Mode mode) {
    EstimatorSpec spec = drawing(s, batch, mode);
    Tensor w = s.shared().variable("w", {.initializer = constant_value(8)});
    if (mode == Mode::train) spec.values = {{"above", log(w - 7)}};
    return spec;
  };
  Estimator estimator({.model_fn = model, .model_dir = dir.path(), .run = quiet()});
  EXPECT_THAT(error_of([&] { train(estimator, keep(1), 100); }), HasSubstr("after step 5"));
  EXPECT_THAT(steps, ElementsAre(1, 2, 3, 4));
}

TEST_F(SamplesTest, AreTheChiefsAlone) {
  Estimator estimator(options());
  auto hook = samples(estimator, two_batches, keep(1));
  for (bool chief : {false, true}) {
    FakeContext context;
    context.chief = chief;
    context.finish_step(*hook, {.context = context});
    EXPECT_EQ(steps.size(), chief ? 1u : 0u);
  }
}

TEST_F(SamplesTest, WhatMakesNoSenseIsRefused) {
  Estimator estimator(options());
  EXPECT_EQ(error_of([&] { samples(estimator, two_batches, keep(0)); }),
            "samples: every must be at least 1, got 0");
  EXPECT_THAT(error_of([&] { samples(estimator, two_batches, {}); }),
              HasSubstr("set SamplesOptions::receive"));
  EXPECT_THAT(error_of([&] { train(estimator, keep(1, {"drwan"}), 1); }),
              HasSubstr("there is no prediction `drwan`"));
  EXPECT_THAT(error_of([&] { train(estimator, keep(1), 1, once({})); }),
              HasSubstr("samples: the input has no batch"));
  EXPECT_THAT(error_of([&] { train(estimator, keep(1, {"total"}), 1); }),
              HasSubstr("samples: the prediction `total` is f32[] for the first batch"));
}

}  // namespace
}  // namespace belfry::hooks
