#include "belfry/hooks/evaluate/train_and_evaluate.h"

#include <chrono>

#include "../tensorboard/events.h"
#include "../undisturbed.h"
#include "belfry/framework/base/file.h"
#include "belfry/hooks/evaluate/evaluation_hook.h"
#include "evaluation_testing.h"

namespace belfry {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using namespace std::chrono_literals;

struct TrainAndEvaluate : EvaluationTest {
  /// The steps of the evaluations when training goes to max_steps, call by call.
  std::vector<std::int64_t> steps_of(EvalSpec spec, const std::vector<std::int64_t>& max_steps,
                                     RunConfig run = quiet()) {
    spec.input_fn = test;
    spec.exporters = {seen};
    seen->steps.clear();
    for (std::int64_t limit : max_steps) train({spec}, limit, run);
    return seen->steps;
  }
};

TEST_F(TrainAndEvaluate, EachSpecHasItsOwnStepsAndTheEnd) {
  auto other = std::make_shared<Recorder>("other", dir.path());
  auto result = train({{.name = "a", .input_fn = test, .every = Steps(2), .exporters = {seen}},
                       {.name = "b", .input_fn = test, .every = Steps(3), .exporters = {other}}},
                      7);
  EXPECT_THAT(seen->steps, ElementsAre(2, 4, 6, 7));
  EXPECT_THAT(other->steps, ElementsAre(3, 6, 7));
  EXPECT_THAT(seen->ends, ElementsAre(7));
  EXPECT_EQ(result.train.global_step, 7);
  ASSERT_EQ(result.evaluations.size(), 2u);
  EXPECT_EQ(result.evaluations.at("a").at("global_step"), 7);
  EXPECT_EQ(result.evaluations.at("b").at("loss"), 8 - 7 / 4.0);
  EXPECT_EQ(result.best.at("b").step, 7);  // the loss falls
  EXPECT_EQ(result.best.at("b").value, 6.25);
  EXPECT_THAT(log.info, HasSubstr("step 4: evaluated a: distance = 0, loss = 7\n"));
  std::vector<std::string> events;
  for (const std::string& file : hooks::event_files(dir / "eval_b"))
    for (const std::string& word : hooks::words_of(file))
      if (word != "version") events.push_back(word);
  EXPECT_THAT(events, ElementsAre("3 distance=0.25", "3 loss=7.25", "6 distance=0.5", "6 loss=6.5",
                                  "7 distance=0.75", "7 loss=6.25"));
}

TEST_F(TrainAndEvaluate, HandsOutResults) {
  std::vector<double> losses;
  train({{.name = "a",
          .input_fn = test,
          .every = Steps(2),
          .receive =
              [&](std::int64_t step, const EvalResult& r) {
                losses.push_back(static_cast<double>(step) + r.at("loss"));
              }}},
        4);
  EXPECT_THAT(losses, ElementsAre(2 + 7.5, 4 + 7.0));
}

TEST_F(TrainAndEvaluate, TheEndOfTheDataIsAnEnd) {
  Estimator estimator(options());
  std::vector<Features> five(5, one_point());
  auto result = train_and_evaluate(estimator, {once(five)},
                                   {{.input_fn = test, .every = Steps(2), .exporters = {seen}}});
  EXPECT_THAT(seen->steps, ElementsAre(2, 4, 5));
  EXPECT_THAT(seen->ends, ElementsAre(5));
  EXPECT_EQ(result.evaluations.at("").at("global_step"), 5);
}

TEST_F(TrainAndEvaluate, EpochsEndWithTheRowsOfAPass) {
  EvalSpec each{.every = Epochs{.examples = 5}};
  input = over_and_over({points({1, 1}, {0, 0}), points({1, 1}, {0, 0}), one_point()});
  EXPECT_THAT(steps_of(each, {7}), ElementsAre(3, 6, 7));
  EXPECT_THAT(steps_of(each, {8, 10, 13}), ElementsAre(8, 9, 10, 12, 13));  // goes on counting
  TemporaryFolder other;
  // Batches of 2 and a pass of 5: 6 rows after step 3, 10 after step 5, 16 after step 8.
  Estimator estimator({.model_fn = passing_seven, .model_dir = other.path(), .run = quiet()});
  seen->steps.clear(), seen->root = other.path();
  train_and_evaluate(
      estimator, {over_and_over({points({1, 1}, {0, 0})}), {.max_steps = 9}},
      {{.input_fn = test, .every = Epochs{.count = 1, .examples = 5}, .exporters = {seen}}});
  EXPECT_THAT(seen->steps, ElementsAre(3, 5, 8, 9));
}

TEST_F(TrainAndEvaluate, EachCheckpointIsEvaluated) {
  EXPECT_THAT(steps_of({}, {7, 8}, saving_every(3)), ElementsAre(3, 6, 7, 8));
  TemporaryFolder other;
  RunConfig background = saving_every(3);
  background.save_in_background = true;  // some steps later; the last one is waited for
  Estimator estimator({.model_fn = passing_seven, .model_dir = other.path(), .run = background});
  seen->steps.clear(), seen->root = other.path();
  train_and_evaluate(estimator, {input, {.max_steps = 7}},
                     {{.input_fn = test, .exporters = {seen}}});
  // Checkpoint 3 is durable before 6 is begun, so one is seen in between: at steps 3, 4 or 5.
  ASSERT_GE(seen->steps.size(), 2u);
  EXPECT_GE(seen->steps.front(), 3);
  EXPECT_LE(seen->steps.front(), 6);
  EXPECT_EQ(seen->steps.back(), 7);
}

// As a kill after checkpoint 6 is written and before it is evaluated, where patience counts.
TEST_F(TrainAndEvaluate, ACheckpointIsEvaluatedAfterARestartIfItWasNotBefore) {
  struct Dies final : CheckpointListener {
    void after_save(HookContext& context, const std::string&) override {
      if (context.step() == 6) fail("killed");
    }
  };
  EvalSpec spec{.input_fn = test, .metric = "distance", .exporters = {seen}};
  spec.early_stopping.patience = 3;
  Estimator killed(options(saving_every(3)));
  EXPECT_THAT(error_of([&] {
                train_and_evaluate(
                    killed, {input, {.max_steps = 9, .listeners = {std::make_shared<Dies>()}}},
                    {spec});
              }),
              HasSubstr("killed"));
  EXPECT_THAT(seen->steps, ElementsAre(3));
  // 0.25 at 3 is the best; 6, 9 and 12 are in vain, which is seen before step 13.
  EXPECT_EQ(train({spec}, 100, saving_every(3)).train.global_step, 12);
  EXPECT_THAT(seen->steps, ElementsAre(3, 6, 9, 12));
  EXPECT_EQ(saved_steps(dir.path()).back(), 12);
  spec.early_stopping.patience = 5;  // 12 is not evaluated again
  EXPECT_EQ(train({spec}, 100, saving_every(3)).train.global_step, 18);
  EXPECT_THAT(seen->steps, ElementsAre(3, 6, 9, 12, 15, 18));
}

TEST_F(TrainAndEvaluate, TheFirstValuesAreNoCheckpointToEvaluate) {
  struct Fails final : Hook {
    void before_step(StepRequest&) override { fail("no step"); }
  };
  Estimator estimator(options(saving_every(3)));
  EXPECT_THAT(error_of([&] { estimator.train(input, {.hooks = {std::make_shared<Fails>()}}); }),
              HasSubstr("no step"));
  ASSERT_THAT(saved_steps(dir.path()), ElementsAre(0));
  EXPECT_THAT(steps_of({}, {3}, saving_every(3)), ElementsAre(3));
}

TEST_F(TrainAndEvaluate, PatienceWithAnotherMetricBeginsAnew) {
  EvalSpec spec{.input_fn = test, .every = Steps(1), .metric = "distance"};
  spec.early_stopping.patience = 2;
  EXPECT_EQ(train({spec}, 100).train.global_step, 6);  // 0 at step 4 is the best
  spec.metric = "loss";
  EXPECT_EQ(train({spec}, 8).train.outcome, Outcome::finished);
}

TEST_F(TrainAndEvaluate, TimesKeepEvaluationsApart) {
  EXPECT_THAT(steps_of({.every = Steps(1), .throttle = 1h}, {4}), ElementsAre(1, 4));
  EXPECT_THAT(steps_of({.every = Steps(1), .start_delay = 1h}, {8}), ElementsAre(8));
  EXPECT_THAT(steps_of({.every = 1h}, {12}), ElementsAre(12));
}

TEST_F(TrainAndEvaluate, StopsWhenNothingGetsBetter) {
  EvalSpec spec{.name = "t",
                .input_fn = test,
                .every = Steps(1),
                .metric = "distance",
                .early_stopping = {.patience = 3},
                .exporters = {seen}};
  EXPECT_EQ(train({spec}, 6).train.outcome, Outcome::finished);
  auto result = train({spec}, 100);
  EXPECT_EQ(result.train.outcome, Outcome::stopped);
  EXPECT_EQ(result.train.global_step, 7);
  EXPECT_EQ(result.train.reason,
            "evaluation `t`: no better distance in 3 evaluations, the best distance was 0 at "
            "step 4");
  EXPECT_EQ(result.best.at("t").step, 4);
  EXPECT_EQ(result.best.at("t").value, 0);
  EXPECT_THAT(seen->steps, ElementsAre(1, 2, 3, 4, 5, 6, 7));
  // Where patience has run out no step is run, and looking again is no further evaluation in vain.
  EXPECT_EQ(train({spec}, 100).train.steps, 0);
  spec.early_stopping.patience = 4;
  EXPECT_EQ(train({spec}, 100).train.global_step, 8);
}

TEST_F(TrainAndEvaluate, DoesNotStopBelowTheFloorOfSteps) {
  EvalSpec spec{.input_fn = test, .every = Steps(1), .metric = "distance"};
  spec.early_stopping = {.patience = 2, .min_steps = 10};  // in vain at 10 and 11
  EXPECT_EQ(train({spec}, 100).train.global_step, 11);
}

// 0.75, 0.5, 0.25, 0, 0.25 at steps 1 to 5 of "distance"; the data end there. Whether the second in
// vain counts shows after a restart.
TEST_F(TrainAndEvaluate, TheEvaluationAtTheEndOfTheDataIsRemembered) {
  EvalSpec spec{.input_fn = test, .every = Steps(4), .metric = "distance"};
  spec.early_stopping.patience = 2;
  auto run = [&](int batches) {
    Estimator estimator(options());
    std::vector<Features> data(static_cast<std::size_t>(batches), one_point());
    return train_and_evaluate(estimator, {once(data), {.resume_input = false}}, {spec}).train;
  };
  EXPECT_EQ(run(5).outcome, Outcome::finished);  // 4, and 5 in vain
  TrainResult second = run(50);
  EXPECT_EQ(second.outcome, Outcome::stopped);  // 8 in vain
  EXPECT_EQ(second.global_step, 8);
}

TEST_F(TrainAndEvaluate, KeepsTheBestCheckpoints) {
  EvalSpec spec{
      .name = "t", .input_fn = test, .every = Steps(1), .metric = "distance", .keep_best = 3};
  train({spec}, 7, saving_every(100, 1));
  // 0 at step 4, 0.25 at 3 and 5; the first of equals is kept.
  EXPECT_THAT(saved_steps(dir / "best_t"), ElementsAre(3, 4, 5));
  EXPECT_EQ(hooks::best_checkpoint(dir.path(), "t"), checkpoint_path(dir / "best_t", 4));
  EXPECT_EQ(hooks::best_checkpoint(dir.path()), std::nullopt);
}

// "loss" falls at each step, so each evaluation of `each` writes a checkpoint of the best.
TEST_F(TrainAndEvaluate, CheckpointsOfTheBestAreNoTrigger) {
  auto other = std::make_shared<Recorder>("other", dir.path());
  train(
      {{.name = "new", .input_fn = test, .keep_best = 1, .exporters = {seen}},
       {.name = "each", .input_fn = test, .every = Steps(1), .keep_best = 1, .exporters = {other}}},
      12, saving_every(5));
  EXPECT_THAT(seen->steps, ElementsAre(5, 10, 12));
  EXPECT_THAT(other->steps, ElementsAre(1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12));
}

// The rows of a step count in each checkpoint of it, also one that an earlier spec wants.
TEST_F(TrainAndEvaluate, TheBestCheckpointKnowsWhatLaterSpecsHaveSeen) {
  train({{.name = "a", .input_fn = test, .every = Steps(3), .keep_best = 1},
         {.name = "b", .input_fn = test, .every = Epochs{.examples = 100}}},
        5, saving_every(100));
  for (std::int64_t step : {3, 5}) {
    auto state = load_checkpoint(checkpoint_path(dir.path(), step)).hooks.at("evaluation/loss/b");
    EXPECT_THAT(state, HasSubstr(concat("\"examples\":", step)));
  }
}

TEST_F(TrainAndEvaluate, TheLastStepIsSavedOnce) {
  struct Saves final : CheckpointListener {
    void after_save(HookContext& context, const std::string&) override {
      steps.push_back(context.step());
    }
    std::vector<std::int64_t> steps;
  };
  auto saves = std::make_shared<Saves>();
  Estimator estimator(options(saving_every(2)));
  train_and_evaluate(estimator, {input, {.max_steps = 4, .listeners = {saves}}},
                     {{.name = "a", .input_fn = test, .every = Steps(1), .keep_best = 1},
                      {.name = "b", .input_fn = test, .every = Steps(1), .keep_best = 1}});
  EXPECT_THAT(saves->steps, ElementsAre(0, 1, 2, 3, 4));
  for (const char* name : {"a", "b"}) {
    auto best = hooks::best_checkpoint(dir.path(), name);
    ASSERT_TRUE(best);
    EXPECT_EQ(load_checkpoint(*best).step, 4);
  }
}

TEST_F(TrainAndEvaluate, NeedsNoCheckpoints) {
  EXPECT_THAT(steps_of({.every = Steps(5)}, {7}, saving_nothing()), ElementsAre(5, 7));
  EXPECT_THAT(dir.names(), ElementsAre("eval"));
  auto refused = [&](EvalSpec spec) {
    spec.name = "a", spec.input_fn = test;
    return error_of([&] { train({spec}, 4, saving_nothing()); });
  };
  for (const std::string& error : {refused({}), refused({.every = Steps(1), .devices = {"cpu:1"}})})
    EXPECT_THAT(error, HasSubstr("evaluation `a` waits for checkpoints, but RunConfig::save"));
  EXPECT_EQ(refused({.every = Steps(4), .keep_best = 1}), "no error");
  EXPECT_THAT(saved_steps(dir / "best_a"), ElementsAre(4));
}

TEST_F(TrainAndEvaluate, LooksAtAsManyBatchesAsAsked) {
  test = once({one_point(1), one_point(3)});
  auto result =
      train({{.name = "one", .input_fn = test, .steps = 1}, {.name = "all", .input_fn = test}}, 4);
  EXPECT_EQ(result.evaluations.at("one").at("loss"), 7);
  EXPECT_EQ(result.evaluations.at("all").at("loss"), 14);
}

TEST_F(TrainAndEvaluate, ChangesNothingOfTheTraining) {
  for (Exporters exporters : {Exporters{}, {latest_exporter({.model = of_x()})}})
    hooks::expect_undisturbed([&](Estimator& watched) {
      return hooks::evaluation_between_steps(
          watched, {.input_fn = once({one_point(3)}), .every = Steps(2), .exporters = exporters});
    });
}

TEST_F(TrainAndEvaluate, WithNothingToDoEvaluatesOnce) {
  EvalSpec spec{.name = "t", .input_fn = test, .every = Steps(2), .exporters = {seen}};
  train({spec}, 4);
  auto again = train({spec}, 4);
  EXPECT_EQ(again.train.steps, 0);
  EXPECT_EQ(again.best.at("t").step, 4);
  EXPECT_EQ(again.evaluations.at("t").at("global_step"), 4);
  EXPECT_THAT(seen->steps, ElementsAre(2, 4, 4));
  EXPECT_THAT(seen->ends, ElementsAre(4, 4));
}

TEST_F(TrainAndEvaluate, WithNothingToDoRemembersShowsAndKeepsTheBest) {
  EvalSpec spec{.name = "t", .input_fn = test, .every = Steps(1), .metric = "distance"};
  train({spec}, 6);
  log.info.clear();
  spec.keep_best = 1;
  auto again = train({spec}, 6);
  EXPECT_EQ(again.best.at("t").step, 4);
  EXPECT_EQ(again.best.at("t").value, 0);
  EXPECT_THAT(log.info, HasSubstr("step 6: evaluated t: distance = 0.5, loss = 6.5"));
  auto files = hooks::event_files(dir / "eval_t");  // one for each call
  ASSERT_EQ(files.size(), 2u);
  EXPECT_THAT(hooks::words_of(files[1]), testing::Contains("6 distance=0.5"));
  EXPECT_THAT(saved_steps(dir / "best_t"), ElementsAre(6));  // the one there is
}

TEST_F(TrainAndEvaluate, ATrainingThatFailsExportsNothingMore) {
  struct Fails final : Hook {
    void after_step(const StepResult& result) override {
      if (result.step == 3) fail("no more");
    }
  };
  Estimator estimator(options());
  EXPECT_THAT(error_of([&] {
                train_and_evaluate(estimator,
                                   {input, {.max_steps = 9, .hooks = {std::make_shared<Fails>()}}},
                                   {{.input_fn = test, .every = Steps(2), .exporters = {seen}}});
              }),
              HasSubstr("no more"));
  EXPECT_THAT(seen->steps, ElementsAre(2));
  EXPECT_THAT(seen->ends, IsEmpty());
}

// Both may have one name too: their memories are not mixed.
TEST_F(TrainAndEvaluate, MayGoOnBesideValidate) {
  Estimator estimator(options());
  EvalSpec beside{.name = "v",
                  .input_fn = test,
                  .every = Steps(2),
                  .metric = "distance",
                  .early_stopping = {.patience = 2},
                  .keep_best = 1};
  auto result = train_and_evaluate(
      estimator, {input, {.max_steps = 20, .hooks = {hooks::validate(estimator, beside)}}},
      {{.name = "v", .input_fn = test, .every = Steps(2), .metric = "distance"}});
  EXPECT_EQ(result.train.reason,
            "validate `v`: no better distance in 2 evaluations, the best distance was 0 at step 4");
}

TEST_F(TrainAndEvaluate, WhatFailsIsNamed) {
  struct Full final : Exporter {
    std::string name() const override { return "full"; }
    std::optional<std::string> after_evaluation(const EvaluatedState&) override {
      fail("the disk is full");
    }
  };
  EvalSpec spec{.name = "t", .input_fn = test, .every = Steps(2)};
  spec.exporters = {std::make_shared<Full>()};
  EXPECT_EQ(error_of([&] { train({spec}, 4); }),
            "the disk is full (in exporter `full`) (in evaluation `t`) (after training step 2)");
  EXPECT_EQ(saved_steps(dir.path()).back(), 2);  // nor were the steps lost
  spec.exporters.clear();
  spec.metric = "dise";
  EXPECT_THAT(
      error_of([&] { train({spec}, 4); }),
      HasSubstr("there is no result `dise` that is a number; there are global_step, loss, "
                "distance; the nearest is `distance` (in evaluation `t`, tried out first)"));
}

TEST_F(TrainAndEvaluate, EvaluationDataThatAreNotBatchedAreFoundBeforeTheFirstStep) {
  Dataset rows = data::from_arrays(points({1, 2}, {1, 2}));
  EvalSpec spec{.name = "t", .input_fn = rows, .every = Steps(2)};
  Estimator estimator({.model_fn = linear, .model_dir = dir.path(), .run = quiet()});
  EXPECT_THAT(error_of([&] {
                train_and_evaluate(estimator, {input, {.max_steps = 4}}, {spec});
              }),
              HasSubstr("(in evaluation `t`, tried out first)"));
  EXPECT_THAT(saved_steps(dir.path()), IsEmpty());
}

// The evaluation of step 4 has no data. Nobody has asked for a checkpoint of that step.
TEST_F(TrainAndEvaluate, AnEvaluationThatFailsCostsNoStep) {
  int opened = 0;
  EvalSpec spec{.name = "t", .every = Steps(2)};
  spec.input_fn = [&](const InputContext& context) {
    if (++opened == 3) fail("no such file");  // after it was tried out, and step 2
    return test(context);
  };
  Estimator estimator(options());
  EXPECT_EQ(error_of([&] {
              train_and_evaluate(estimator, {input, {.max_steps = 9}}, {spec});
            }),
            "no such file (in evaluation `t`) (after training step 4)");
  EXPECT_EQ(saved_steps(dir.path()).back(), 4);
  EXPECT_EQ(estimator.train(input, {.steps = 1}).global_step, 5);
}

TEST_F(TrainAndEvaluate, AnEvaluationMayBeRefused) {
  EvalSpec spec{.input_fn = test, .every = Steps(2), .exporters = {seen}};
  spec.wanted = [](std::int64_t step) { return step % 3 != 0; };
  train({spec}, 6);
  EXPECT_THAT(seen->steps, ElementsAre(2, 4));
  EXPECT_THAT(seen->ends, IsEmpty());
  spec.wanted = [](std::int64_t) { return false; };
  for (int training : {1, 2})  // the second one has nothing to do
    EXPECT_TRUE(train({spec}, 8).evaluations.empty()) << training;
  EXPECT_THAT(seen->steps, ElementsAre(2, 4));
}

TEST_F(TrainAndEvaluate, TheMetricsOfExportersAreCheckedFirst) {
  EvalSpec spec{.name = "t", .input_fn = test};
  spec.exporters = {best_exporter({.model = of_x(), .metric = "acuracy"})};
  EXPECT_THAT(error_of([&] { train({spec}, 4); }),
              HasSubstr("exporter `best`: there is no result `acuracy` that is a number; there are "
                        "global_step, loss, distance (in evaluation `t`, tried out"));
  EXPECT_THAT(saved_steps(dir.path()), IsEmpty());
}

// Whatever has asked for the evaluations: 0 at step 4 is the best, 8, 12 and 16 are not better.
TEST_F(TrainAndEvaluate, EarlyStoppingStopsWithTheStepThatWasEvaluated) {
  for (EvalTrigger trigger : {EvalTrigger(Steps(4)), EvalTrigger(NewCheckpoint())}) {
    std::filesystem::remove_all(dir.path());
    seen->steps.clear();
    EvalSpec spec{.input_fn = test, .every = trigger, .metric = "distance", .exporters = {seen}};
    spec.early_stopping.patience = 3;
    EXPECT_EQ(train({spec}, 100, saving_every(4)).train.global_step, 16);
    EXPECT_THAT(seen->steps, ElementsAre(4, 8, 12, 16));
    EXPECT_THAT(saved_steps(dir.path()), ElementsAre(0, 4, 8, 12, 16));
  }
}

// 0.5 at step 2.
TEST_F(TrainAndEvaluate, StopsWhenAValueIsGoodEnough) {
  EvalSpec spec{.name = "t", .input_fn = test, .every = Steps(1), .metric = "distance"};
  spec.early_stopping.target = 0.5;
  TrainResult result = train({spec}, 100).train;
  EXPECT_EQ(result.outcome, Outcome::stopped);
  EXPECT_EQ(result.global_step, 2);
  EXPECT_THAT(result.reason, HasSubstr("distance is 0.5 at step 2, which is as good as 0.5"));
}

TEST_F(TrainAndEvaluate, WhatMakesNoSenseIsRefusedBeforeTraining) {
  auto refused = [&](EvalSpec spec) {
    if (!spec.input_fn) spec.input_fn = test;
    return error_of([&] { train({spec}, 4); });
  };
  auto named = [&](std::string name) { return EvalSpec{.name = name, .input_fn = test}; };
  EXPECT_THAT(error_of([&] {
                train({named("a"), named("a")}, 4);
              }),
              HasSubstr("there are two evaluations named `a`"));
  EXPECT_THAT(refused({.exporters = {seen, seen}}), HasSubstr("two exporters named `seen`"));
  EXPECT_THAT(refused({.exporters = {nullptr}}), HasSubstr("is null"));
  EXPECT_THAT(refused({.name = "a/b"}), HasSubstr("use one without slashes"));
  EXPECT_EQ(refused({.name = "a", .every = Steps(0)}),
            "evaluation `a`: every must be at least 1 step, got 0");
  EXPECT_EQ(refused({.every = 0s}), "evaluation: every must be above 0, got 0 s");
  EXPECT_THAT(refused({.every = Epochs()}), HasSubstr("Epochs::examples must say"));
  EXPECT_THAT(refused({.throttle = -1s}), HasSubstr("throttle must be at least 0 s, got -1"));
  EXPECT_THAT(refused({.start_delay = -2s}), HasSubstr("start_delay must be at least 0 s, got -2"));
  EXPECT_THAT(refused({.steps = 0}), HasSubstr("steps must be above 0, got 0"));
  EXPECT_THAT(refused({.early_stopping = {.patience = -1}}), HasSubstr("patience must be"));
  EXPECT_THAT(refused({.early_stopping = {.min_steps = -1}}), HasSubstr("min_steps must be"));
  EXPECT_THAT(refused({.keep_best = -1}), HasSubstr("keep_best must be at least 0, got -1"));
  EXPECT_THAT(refused({.devices = {"tpu:0"}}), HasSubstr("tpu:0"));
  Estimator estimator(options());
  EXPECT_THAT(error_of([&] { train_and_evaluate(estimator, {input}, {{.name = "a"}}); }),
              HasSubstr("evaluation `a`: there is no input_fn"));
  EXPECT_THAT(dir.names(), IsEmpty());
}

}  // namespace
}  // namespace belfry
