#include "belfry/hooks/evaluate/validate.h"

#include <variant>

#include "../tensorboard/events.h"
#include "../undisturbed.h"
#include "validate_testing.h"

namespace belfry::hooks {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

TEST_F(ValidateTest, StopsWhenNothingGetsBetterAndKeepsTheBest) {
  Estimator estimator(options());
  TrainResult result = train(
      estimator,
      {.every = Steps(1), .metric = "distance", .early_stopping = {.patience = 3}, .keep_best = 1},
      100);
  EXPECT_EQ(result.outcome, Outcome::stopped);
  EXPECT_EQ(result.global_step, 7);
  EXPECT_EQ(result.reason,
            "validate: no better distance in 3 evaluations, the best distance was 0 at step 4");
  EXPECT_THAT(saved_steps(dir.path() + "/best"), ElementsAre(4));
  EvalResult best =
      estimator.evaluate(once({one_point()}), {.checkpoint = best_checkpoint(dir.path()).value()});
  EXPECT_EQ(best.at("distance"), 0);
  EXPECT_EQ(best.at("global_step"), 4);
}

TEST_F(ValidateTest, AnEvaluationThatFailsCostsNoStep) {
  Estimator estimator(options());
  InputFn data = [opened = 0, points = once({one_point()})](const InputContext& context) mutable {
    if (++opened > 2) fail("no such file");
    return points(context);
  };
  EXPECT_THAT(error_of([&] {
                estimator.train(
                    input, {.max_steps = 9,
                            .hooks = {validate(estimator, {.input_fn = data, .every = Steps(2)})}});
              }),
              HasSubstr("no such file"));
  EXPECT_EQ(saved_steps(dir.path()).back(), 4);
  EXPECT_EQ(estimator.train(input, {.steps = 1}).global_step, 5);
}

TEST_F(ValidateTest, IsOfTheEstimatorThatTrains) {
  Estimator estimator(options());
  TemporaryFolder elsewhere;
  EstimatorOptions others = options();
  others.model_dir = elsewhere.path();
  Estimator other(others);
  EXPECT_THAT(
      error_of([&] {
        estimator.train(
            input,
            {.max_steps = 3,
             .hooks = {validate(other, {.input_fn = once({one_point()}), .every = Steps(1)})}});
      }),
      HasSubstr(concat("validate: it was given the estimator of model_dir ", elsewhere.path(),
                       ", but the one that trains has ", dir.path(), "; give it that one")));
}

TEST_F(ValidateTest, AnEvaluationMayBeRefused) {
  Estimator estimator(options());
  std::vector<std::int64_t> steps;
  train(estimator,
        {.every = Steps(2),
         .wanted = [](std::int64_t step) { return step != 4; },
         .receive = [&](std::int64_t step, const EvalResult&) { steps.push_back(step); }},
        6);
  EXPECT_THAT(steps, ElementsAre(2, 6));
}

TEST_F(ValidateTest, RemembersOverRestarts) {
  EvalSpec o{
      .every = Steps(2), .metric = "distance", .early_stopping = {.patience = 3}, .keep_best = 1};
  auto restarted = [&](std::int64_t max_steps) {
    Estimator estimator(options());
    return train(estimator, o, max_steps);
  };
  EXPECT_EQ(restarted(3).outcome, Outcome::finished);  // evaluated at 2 and 3
  EXPECT_EQ(restarted(7).outcome, Outcome::finished);  // 4 is the best; 6, 7
  EXPECT_EQ(restarted(100).global_step, 8);            // the third in vain
  TrainResult again = restarted(100);
  EXPECT_EQ(again.outcome, Outcome::stopped);
  EXPECT_EQ(again.steps, 0);
  o.early_stopping.patience = 4;
  EXPECT_EQ(restarted(100).global_step, 10);
  EXPECT_THAT(saved_steps(dir.path() + "/best"), ElementsAre(4));
}

TEST_F(ValidateTest, HigherMayBeBetterAndSmallChangesNotCount) {
  Estimator estimator(options());
  EvalSpec o{.every = Steps(1),
             .metric = "distance",
             .better = Better::higher,
             .early_stopping = {.patience = 2},
             .keep_best = 0};
  EXPECT_EQ(train(estimator, o, 100).global_step, 3);  // 0.75 at step 1, then 0.5, 0.25
  EXPECT_EQ(best_checkpoint(dir.path()), std::nullopt);
  TemporaryFolder other;
  Estimator second({.model_fn = passing_seven, .model_dir = other.path(), .run = quiet()});
  // 7.75 at step 1, 7.5 at step 2: better by 1/4, which counts or does not.
  o.metric = "loss", o.better = Better::lower, o.early_stopping.patience = 1,
  o.early_stopping.min_change = 0.25;
  EXPECT_EQ(train(second, o, 4).global_step, 2);
  TemporaryFolder third_dir;
  Estimator third({.model_fn = passing_seven, .model_dir = third_dir.path(), .run = quiet()});
  o.early_stopping.min_change = 0.2;
  EXPECT_EQ(train(third, o, 4).outcome, Outcome::finished);
}

TEST_F(ValidateTest, DoesNotStopBelowTheFloorOfSteps) {
  Estimator estimator(options());
  EvalSpec o{.every = Steps(2),
             .metric = "distance",
             .early_stopping = {.patience = 2, .min_steps = 9},
             .keep_best = 1};
  EXPECT_EQ(train(estimator, o, 100).global_step, 12);  // the best is at 4; in vain at 10 and 12
  o.early_stopping.min_steps = 15;
  EXPECT_EQ(train(estimator, o, 100).global_step, 16);  // there are enough already
}

TEST_F(ValidateTest, TwoKeepTheirBestInFoldersOfTheirOwn) {
  auto run = [&](EvalSpec one, EvalSpec other, std::int64_t max_steps) {
    Estimator estimator(options(saving_every(1)));
    one.input_fn = other.input_fn = once({one_point()});
    estimator.train(input, {.max_steps = max_steps,
                            .hooks = {validate(estimator, one), validate(estimator, other)}});
  };
  EvalSpec loss{.every = Steps(1), .keep_best = 1},
      near{.every = Steps(1), .metric = "distance", .keep_best = 1};
  EXPECT_THAT(error_of([&] { run(loss, near, 2); }),
              HasSubstr("/best` keeps the best loss of validate already, not the best distance "
                        "too; give one of them another name (EvalSpec::name), "));
  EXPECT_THAT(saved_steps(dir / "best"), testing::IsEmpty());
  near.name = "near";
  run(loss, near, 2);
  run(loss, near, 6);
  EXPECT_THAT(saved_steps(dir / "best"), ElementsAre(6));
  EXPECT_EQ(best_checkpoint(dir.path(), "near"), checkpoint_path(dir / "best_near", 4));
  // It remembers by its name: 0.25 at step 5 and 0.5 at step 6 were in vain.
  near.early_stopping.patience = 3;
  Estimator estimator(options());
  EXPECT_EQ(train(estimator, near, 100).reason,
            "validate `near`: no better distance in 3 evaluations, the best distance was 0 at "
            "step 4");
  loss.name = "near";
  EXPECT_THAT(error_of([&] { run(near, loss, 9); }),
              HasSubstr("/best_near` keeps the best distance of validate `near` already"));
  near.keep_best = 0;
  loss.name = "";
  run(near, loss, 8);
}

TEST_F(ValidateTest, ChangesNothingOfTheTraining) {
  expect_undisturbed([](Estimator& watched) {
    return validate(watched, {.input_fn = once({one_point(3)}), .every = Steps(1), .keep_best = 1});
  });
}

// "gap" is log(7 - w): NaN at steps 1 to 3, minus infinity at step 4, log(1/4) at step 5, ...
EstimatorSpec gap_behind_seven(Scope s, const Batch& batch, Mode mode) {
  EstimatorSpec spec = falling(s, batch, mode);
  Tensor w = s.shared().variable("w", {.initializer = constant_value(8)});
  spec.metrics = {{"gap", mean_metric(log(7 - w))}};
  return spec;
}

TEST_F(ValidateTest, WhatIsNotFiniteIsNeverBetter) {
  auto run = [&](std::int64_t max_steps, std::int64_t patience, Better better) {
    Estimator estimator(
        {.model_fn = gap_behind_seven, .model_dir = dir.path(), .run = saving_every(1)});
    return train(estimator,
                 {.every = Steps(1),
                  .metric = "gap",
                  .better = better,
                  .early_stopping = {.patience = patience},
                  .keep_best = 1},
                 max_steps);
  };
  CapturedLog log;
  EXPECT_EQ(run(2, 3, Better::lower).outcome, Outcome::finished);
  TrainResult stopped = run(100, 3, Better::lower);  // its third, after a restart
  EXPECT_EQ(stopped.global_step, 3);
  EXPECT_EQ(stopped.reason, "validate: no better gap in 3 evaluations");
  EXPECT_THAT(log.info, testing::Not(HasSubstr("the best")));
  EXPECT_EQ(best_checkpoint(dir.path()), std::nullopt);
  EXPECT_EQ(run(4, 5, Better::lower).outcome, Outcome::finished);
  EXPECT_EQ(best_checkpoint(dir.path()), std::nullopt);
  EXPECT_EQ(run(6, 5, Better::lower).outcome, Outcome::finished);
  EXPECT_THAT(saved_steps(dir.path() + "/best"), ElementsAre(5));
}

TEST_F(ValidateTest, AnInfiniteValueDoesNotReplaceTheBest) {
  // 1 / |w - 7| is 4 at step 3, infinite at step 4, 4 at step 5, 2 at step 6.
  auto model = [](Scope s, const Batch& batch, Mode mode) {
    EstimatorSpec spec = passing_seven(s, batch, mode);
    Tensor w = s.shared().variable("w", {.initializer = constant_value(8)});
    spec.metrics = {{"nearness", mean_metric(1 / abs(w - 7))}};
    return spec;
  };
  auto run = [&](std::int64_t max_steps) {
    Estimator estimator({.model_fn = model, .model_dir = dir.path(), .run = quiet()});
    return train(estimator,
                 {.every = Steps(1),
                  .metric = "nearness",
                  .better = Better::higher,
                  .early_stopping = {.patience = 3},
                  .keep_best = 1},
                 max_steps);
  };
  run(4);
  EXPECT_THAT(saved_steps(dir.path() + "/best"), ElementsAre(3));
  EXPECT_EQ(run(100).reason,
            "validate: no better nearness in 3 evaluations, the best nearness was 4 at step 3");
}

// Each step sees w before its update, so that log(w - 7) is minus infinity in step 5, which ends
// training; the loss is the lowest so far there too.
TEST_F(ValidateTest, AStepWithAValueThatIsNotFiniteIsNotKept) {
  auto model = [](Scope s, const Batch& batch, Mode mode) {
    EstimatorSpec spec = falling(s, batch, mode);
    Tensor w = s.shared().variable("w", {.initializer = constant_value(8)});
    spec.values = {{"above", log(w - 7)}};
    return spec;
  };
  Estimator estimator({.model_fn = model, .model_dir = dir.path(), .run = quiet()});
  EXPECT_THAT(error_of([&] { train(estimator, {.every = Steps(1), .keep_best = 1}, 100); }),
              HasSubstr("above is infinite after step 5"));
  EXPECT_THAT(saved_steps(dir.path() + "/best"), ElementsAre(4));
}

TEST_F(ValidateTest, LogsWhatItFound) {
  CapturedLog log;
  Estimator estimator(options());
  train(estimator, {.every = Steps(4), .metric = "distance", .keep_best = 1}, 5);
  EXPECT_THAT(log.info, HasSubstr("step 4: evaluated distance = 0, loss = 7\n"));
  EXPECT_THAT(log.info, HasSubstr("step 5: evaluated distance = 0.25, loss = 6.75; the best "
                                  "distance was 0 at step 4\n"));
}

TEST_F(ValidateTest, WritesWhatItFoundForTensorBoard) {
  Estimator estimator(options());
  train(estimator, {.name = "v", .every = Steps(4), .metric = "distance", .keep_best = 1}, 5);
  std::vector<std::string> words;
  for (const std::string& file : event_files(dir / "eval_v"))
    for (const std::string& word : words_of(file)) words.push_back(word);
  EXPECT_THAT(words,
              ElementsAre("version", "4 distance=0", "4 loss=7", "5 distance=0.25", "5 loss=6.75"));
}

TEST_F(ValidateTest, HandsOverWhatItFound) {
  Estimator estimator(options());
  std::vector<std::pair<std::int64_t, double>> found;
  train(estimator,
        {.every = Steps(2),
         .receive = [&](auto step,
                        const auto& results) { found.emplace_back(step, results.at("distance")); }},
        5);
  EXPECT_THAT(found, ElementsAre(std::pair(2, 0.5), std::pair(4, 0.0), std::pair(5, 0.25)));
}

// distance falls by 0.25 a step from 1, the loss from 8.
TEST_F(ValidateTest, StopsWhenAValueIsGoodEnough) {
  EvalSpec near{
      .every = Steps(1), .metric = "distance", .early_stopping = {.target = 0.5}, .keep_best = 0};
  Estimator estimator(options());
  TrainResult result = train(estimator, near, 100);
  EXPECT_EQ(result.global_step, 2);
  EXPECT_EQ(result.reason, "validate: distance is 0.5 at step 2, which is as good as 0.5");
  EXPECT_EQ(train(estimator, near, 100).steps, 0);  // nor does it go on after a restart
  near.early_stopping.target.reset();
  EXPECT_EQ(train(estimator, near, 5).global_step, 5);
  EvalSpec high{.every = Steps(1),
                .better = Better::higher,
                .early_stopping = {.min_steps = 7, .target = 6},
                .keep_best = 0};
  EXPECT_EQ(train(estimator, high, 100).global_step, 7);  // 6.25
}

TEST_F(ValidateTest, WhatMakesNoSenseIsRefused) {
  Estimator estimator(options());
  InputFn data = once({one_point()});
  auto refused = [&](EvalSpec o) {
    o.input_fn = data;
    if (std::holds_alternative<NewCheckpoint>(o.every)) o.every = Steps(1);
    return error_of([&] { validate(estimator, o); });
  };
  EXPECT_EQ(refused({.every = Steps(0)}), "validate: every must be at least 1 step, got 0");
  EXPECT_EQ(refused({.early_stopping = {.patience = -1}}),
            "validate: patience must be at least 0, got -1");
  EXPECT_EQ(refused({.early_stopping = {.min_steps = -1}}),
            "validate: min_steps must be at least 0, got -1");
  EXPECT_EQ(refused({.keep_best = -1}), "validate: keep_best must be at least 0, got -1");
  EXPECT_EQ(refused({.early_stopping = {.min_change = -1}}),
            "validate: min_change must be at least 0, got -1");
  EXPECT_THAT(refused({.name = "a/b"}), HasSubstr("`a/b` is no name"));
  EXPECT_EQ(refused({.steps = 0}), "validate: steps must be above 0, got 0");
  EXPECT_EQ(refused({.devices = {"cpu:1"}}),
            "validate: the live variables are evaluated; `devices` are for train_and_evaluate()");
  EXPECT_EQ(refused({.exporters = {nullptr}}),
            "validate: `exporters` are for train_and_evaluate()");
  EXPECT_EQ(error_of([&] { validate(estimator, {.input_fn = data}); }),
            "validate: `every` waits for checkpoints, of which a hook alone hears nothing; set it "
            "to steps, a time or epochs, or use train_and_evaluate()");
  EXPECT_EQ(error_of([&] { validate(estimator, {}); }), "validate: there is no input_fn");
  auto broken = validate(
      estimator, {.name = "v",
                  .input_fn = [](const InputContext&) -> InputStreamPtr { fail("no data"); },
                  .every = Steps(1)});
  EXPECT_EQ(error_of([&] { estimator.train(input, {.hooks = {broken}}); }),
            "no data (in validate `v`, tried out first) (in training step 1)");
  EXPECT_THAT(error_of([&] { train(estimator, {.every = Steps(1), .metric = "dise"}, 1); }),
              HasSubstr("there is no result `dise` that is a number; there are global_step, loss, "
                        "distance; the nearest is `distance`"));
  auto hook = validate(estimator, {.input_fn = data, .every = Steps(1)});
  EXPECT_EQ(error_of([&] { hook->restore("{}"); }),
            "validate: its state in the checkpoint: `best` is missing");
  EXPECT_THAT(error_of([&] { hook->restore(R"({"best": "{}", "examples": 0})"); }),
              HasSubstr("validate: its state in the checkpoint: `best` is missing"));
  EXPECT_THAT(error_of([&] { hook->restore(R"({"best": "", "examples": -1})"); }),
              HasSubstr("`examples` must be in 0..4611686018427387904, got -1"));
  EXPECT_THAT(error_of([&] {
                hook->restore(R"({"best": "{\"best\": 1, \"step\": 1, \"last_step\": 1,)"
                              R"( \"waited\": 9223372036854775807}", "examples": 0})");
              }),
              HasSubstr("`waited` must be in 0..4611686018427387904, got 9223372036854775807"));
}

// Batches of 1: an epoch of 2 examples ends at steps 2, 4 and 6; none before half an hour is over.
TEST_F(ValidateTest, HasTheTriggersOfOtherEvaluations) {
  Estimator estimator(options());
  std::vector<std::int64_t> steps;
  auto note = [&](std::int64_t step, const EvalResult&) { steps.push_back(step); };
  train(estimator, {.every = Epochs{.count = 1, .examples = 2}, .receive = note}, 5);
  EXPECT_THAT(steps, ElementsAre(2, 4, 5));
  steps.clear();
  train(estimator, {.every = Steps(1), .start_delay = std::chrono::minutes(30), .receive = note},
        8);
  EXPECT_THAT(steps, ElementsAre(8));
}

}  // namespace
}  // namespace belfry::hooks
