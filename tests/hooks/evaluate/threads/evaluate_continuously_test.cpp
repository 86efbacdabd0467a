#include "belfry/hooks/evaluate/evaluate_continuously.h"

#include <thread>

#include "../evaluation_testing.h"
#include "belfry/data/data.h"
#include "belfry/hooks/tensorboard/summaries.h"

namespace belfry {
namespace {

using std::chrono::milliseconds;
using testing::ElementsAre;
using testing::HasSubstr;

struct Continuously : EvaluationTest {
  // Trains on, as another process would.
  void train_to(std::int64_t step) const { Estimator(options()).train(input, {.max_steps = step}); }
  std::vector<std::int64_t> steps;
  EvaluateContinuouslyOptions o{.poll = milliseconds(1)};
  EvalSpec spec{.input_fn = test, .receive = [this](std::int64_t step, const EvalResult& r) {
                  EXPECT_EQ(r.at("distance"), distance_at(step));
                  steps.push_back(step);
                }};
};

// Checkpoint 0 stands beside 2; only the newest counts.
TEST_F(Continuously, EachNewestCheckpointIsEvaluated) {
  train_to(2);
  o.max_steps = 7;
  std::jthread trainer;
  spec.receive = [&, note = spec.receive](std::int64_t step, const EvalResult& r) {
    note(step, r);
    if (step == 2) trainer = std::jthread([&] { train_to(7); });
  };
  Estimator evaluator(options());
  auto last = evaluate_continuously(evaluator, spec, o);
  trainer.join();  // it may still be logging
  EXPECT_THAT(steps, ElementsAre(2, 7));
  EXPECT_EQ(last.value().at("global_step"), 7);
  EXPECT_FALSE(std::filesystem::is_empty(hooks::evaluation_dir(dir.path())));
  EXPECT_THAT(log.info, HasSubstr("step 7: evaluated "));
}

TEST_F(Continuously, EndsWhenNothingComesAnyMore) {
  o.timeout = milliseconds(200);
  Estimator evaluator(options());
  EXPECT_FALSE(evaluate_continuously(evaluator, spec, o).has_value());
  train_to(3);
  EXPECT_EQ(evaluate_continuously(evaluator, spec, o).value().at("global_step"), 3);
  EXPECT_THAT(steps, ElementsAre(3));
}

TEST_F(Continuously, EndsWhenItIsAskedTo) {
  std::stop_source stop;
  o.poll = std::chrono::hours(1);
  o.stop = stop.get_token();
  std::jthread stopper([&] {
    std::this_thread::sleep_for(milliseconds(20));
    stop.request_stop();
  });
  Estimator evaluator(options());
  EXPECT_FALSE(evaluate_continuously(evaluator, spec, o).has_value());
}

TEST_F(Continuously, LeavesOutWhatIsNotWanted) {
  train_to(3);
  o.max_steps = 3;
  std::stop_source stop;
  o.stop = stop.get_token();
  spec.wanted = [](std::int64_t step) { return step != 3; };
  int opened = 0;
  spec.input_fn = [&](const InputContext& context) { return ++opened, test(context); };
  Estimator evaluator(options());
  EXPECT_FALSE(evaluate_continuously(evaluator, spec, o).has_value());
  EXPECT_EQ(opened, 0);
  // Nor are the data opened but for the evaluation where that says what there is to say.
  spec.wanted = nullptr;
  spec.steps = 1;
  EXPECT_TRUE(evaluate_continuously(evaluator, spec, o).has_value());
  EXPECT_EQ(opened, 1);
}

TEST_F(Continuously, DataHaveAnEnd) {
  train_to(1);
  spec.input_fn = data::from_arrays({{"x", one_point().at("x")}}) | data::repeat() | data::batch(1);
  o.max_steps = 1;
  std::stop_source stop;
  o.stop = stop.get_token();
  Estimator evaluator(options());
  EXPECT_THAT(error_of([&] { evaluate_continuously(evaluator, spec, o); }),
              HasSubstr("the data never end; set `steps`"));
  EXPECT_THAT(steps, testing::IsEmpty());
  spec.steps = 2;
  EXPECT_EQ(evaluate_continuously(evaluator, spec, o).value().at("distance"), 0.75);
}

TEST_F(Continuously, TimesMayBeAsLongAsTheyLike) {
  train_to(2);
  o.timeout = spec.throttle = o.poll = milliseconds::max();
  std::stop_source stop;
  o.stop = stop.get_token();
  std::jthread stopper;
  spec.receive = [&, note = spec.receive](std::int64_t step, const EvalResult& r) {
    note(step, r);
    stopper = std::jthread([&] {
      std::this_thread::sleep_for(milliseconds(20));
      train_to(3);  // which the throttle keeps from being seen
      std::this_thread::sleep_for(milliseconds(20));
      stop.request_stop();
    });
  };
  Estimator evaluator(options());
  EXPECT_TRUE(evaluate_continuously(evaluator, spec, o).has_value());
  EXPECT_TRUE(stop.stop_requested());
  EXPECT_THAT(steps, ElementsAre(2));
}

// A stop within an evaluation ends it, and its values do not count.
TEST_F(Continuously, EndsInTheMiddleOfAnEvaluation) {
  train_to(2);
  std::stop_source stop;
  struct Stops final : InputStream {
    explicit Stops(std::stop_source& s) : stop(s) {}
    bool next(Features& batch) override {
      if (++read == 5) stop.request_stop();
      batch = one_point();
      return true;
    }
    std::stop_source& stop;
    int read = 0;
  };
  o.stop = stop.get_token();
  int opened = 0;  // it is tried out first
  spec.input_fn = [&](const InputContext& c) -> InputStreamPtr {
    return ++opened == 1 ? test(c) : std::make_unique<Stops>(stop);
  };
  Estimator evaluator(options());
  EXPECT_FALSE(evaluate_continuously(evaluator, spec, o).has_value());
  EXPECT_EQ(opened, 2);
  EXPECT_THAT(steps, testing::IsEmpty());
  EXPECT_FALSE(std::filesystem::exists(hooks::evaluation_dir(dir.path())));
}

TEST_F(Continuously, TimesAreChecked) {
  Estimator evaluator(options());
  auto error = [&](const EvaluateContinuouslyOptions& times) {
    return error_of([&] { evaluate_continuously(evaluator, spec, times); });
  };
  EXPECT_EQ(error({.poll = milliseconds(0)}),
            "evaluate_continuously: poll must be above 0 ms, got 0");
  EXPECT_THAT(error({.timeout = milliseconds(-1)}), HasSubstr("got -1 and 0"));
  spec.throttle = milliseconds(-2);
  EXPECT_THAT(error({}), HasSubstr("got 0 and -2"));
}

TEST_F(Continuously, WhatIsATrainingsIsRefused) {
  Estimator evaluator(options());
  auto error = [&](EvalSpec other) {
    other.input_fn = test;
    return error_of([&] { evaluate_continuously(evaluator, other, {.timeout = milliseconds(0)}); });
  };
  EXPECT_EQ(error({}), "no error");
  for (const EvalSpec& other : std::vector<EvalSpec>{{.every = Steps(1)},
                                                     {.start_delay = milliseconds(1)},
                                                     {.early_stopping = {.patience = 1}},
                                                     {.early_stopping = {.target = 1}},
                                                     {.keep_best = 1},
                                                     {.exporters = {seen}},
                                                     {.devices = {"cpu:1"}}})
    EXPECT_THAT(error(other), HasSubstr("of an EvalSpec are for train_and_evaluate()"));
}

TEST_F(Continuously, NamesHaveNoSlashes) {
  Estimator evaluator(options());
  spec.name = "../x";
  EXPECT_EQ(error_of([&] { evaluate_continuously(evaluator, spec); }),
            "evaluate_continuously: `../x` is no name for an evaluation; use one without slashes");
  EXPECT_THAT(error_of([&] { evaluate_and_write(evaluator, test, {}, "a/b"); }),
              HasSubstr("evaluate_and_write: `a/b` is no name"));
}

TEST_F(Continuously, OneEvaluationIsWrittenToo) {
  train_to(2);
  Estimator evaluator(options());
  EXPECT_EQ(evaluate_and_write(evaluator, test, {}, "once").at("distance"), 0.5);
  EXPECT_FALSE(std::filesystem::is_empty(hooks::evaluation_dir(dir.path(), "once")));
}

// The checkpoints of a training that is over, in their order: 0, 2, 4, 5.
TEST_F(Continuously, AllCheckpointsAreEvaluated) {
  Estimator(options(saving_every(2))).train(input, {.max_steps = 5});
  Estimator evaluator(options());
  auto results = evaluate_all(evaluator, spec);
  EXPECT_THAT(steps, ElementsAre(0, 2, 4, 5));
  ASSERT_EQ(results.size(), 4u);
  for (const auto& [step, result] : results) {
    EXPECT_EQ(result.at("distance"), distance_at(step));
    EXPECT_EQ(result.at("global_step"), step);
  }
  EXPECT_THAT(log.info, HasSubstr("step 4: evaluated "));
  steps.clear();
  spec.wanted = [](std::int64_t step) { return step > 2; };
  EXPECT_EQ(evaluate_all(evaluator, spec).size(), 2u);

  std::stop_source stop;
  stop.request_stop();
  EXPECT_TRUE(evaluate_all(evaluator, spec, stop.get_token()).empty());
  Estimator none({.model_fn = passing_seven, .model_dir = dir / "none", .run = quiet()});
  EXPECT_EQ(error_of([&] { evaluate_all(none, spec); }),
            "evaluate_all: folder `" + (dir / "none")
                + "` has no checkpoints; train first, or name the model_dir of a training");
  spec.keep_best = 1;
  EXPECT_THAT(error_of([&] { evaluate_all(evaluator, spec); }), HasSubstr("evaluate_all: "));
}

}  // namespace
}  // namespace belfry
