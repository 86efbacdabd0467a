#include "belfry/hooks/validate.h"

#include <filesystem>
#include <nlohmann/json.hpp>
#include <stop_token>

#include "belfry/framework/base/file.h"
#include "belfry/hooks/best_list.h"
#include "events.h"
#include "undisturbed.h"

namespace belfry::hooks {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::UnorderedElementsAre;

// w falls from 8 by 1/4 a step, and so does the loss. "distance" is |w - 7|: 1/4 at step 3, 0 at
// step 4, 1/4 at step 5, ...
EstimatorSpec passing_seven(Scope s, const Batch& batch, Mode mode) {
  EstimatorSpec spec = falling(s, batch, mode);
  Tensor w = s.shared().variable("w", {.initializer = constant_value(8)});
  spec.metrics = {{"distance", mean_metric(abs(w - 7))}};
  return spec;
}

struct ValidateTest : testing::Test {
  EstimatorOptions options(RunConfig run = quiet()) const {
    return {.model_fn = passing_seven, .model_dir = dir.path(), .run = run};
  }
  TrainResult train(Estimator& estimator, ValidateOptions o, std::int64_t max_steps) const {
    return estimator.train(
        input, {.max_steps = max_steps, .hooks = {validate(estimator, once({one_point()}), o)}});
  }
  /// The error that is thrown here comes after the checkpoint of that step and before best.json, as
  /// a kill would.
  void kill_at(std::int64_t step, const ValidateOptions& o) const {
    struct Dies final : CheckpointListener {
      explicit Dies(std::int64_t s) : last(s) {}
      void after_save(HookContext& context, const std::string&) override {
        if (context.step() == last) fail("killed");
      }
      std::int64_t last;
    };
    Estimator killed(options(saving_every(100)));
    EXPECT_THAT(error_of([&] {
                  killed.train(input, {.max_steps = 8,
                                       .hooks = {validate(killed, once({one_point()}), o)},
                                       .listeners = {std::make_shared<Dies>(step)}});
                }),
                HasSubstr("killed"));
  }
  TemporaryFolder dir;
  InputFn input = over_and_over({one_point()});
};

TEST_F(ValidateTest, StopsWhenNothingGetsBetterAndKeepsTheBest) {
  Estimator estimator(options());
  TrainResult result =
      train(estimator, {.metric = "distance", .every = Steps(1), .patience = 3}, 100);
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
                estimator.train(input, {.max_steps = 9,
                                        .hooks = {validate(estimator, data, {.every = Steps(2)})}});
              }),
              HasSubstr("no such file"));
  EXPECT_EQ(saved_steps(dir.path()).back(), 4);
  EXPECT_EQ(estimator.train(input, {.steps = 1}).global_step, 5);
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

TEST_F(ValidateTest, TheBestOutlivesTheCheckpointsOfTraining) {
  RunConfig run = saving_every(1, 1);
  Estimator estimator(options(run));
  train(estimator, {.metric = "distance", .every = Steps(1)}, 8);
  EXPECT_THAT(saved_steps(dir.path()), ElementsAre(8));
  EXPECT_THAT(saved_steps(dir.path() + "/best"), ElementsAre(4));
}

// As a kill between the list and the removal of what gave way, with nothing better to come.
TEST_F(ValidateTest, WhatAKillKeptFromBeingRemovedIsRemoved) {
  ValidateOptions o{.metric = "distance", .every = Steps(1)};
  Estimator estimator(options());
  train(estimator, o, 5);
  ASSERT_THAT(saved_steps(dir.path() + "/best"), ElementsAre(4));
  std::filesystem::copy(checkpoint_path(dir.path() + "/best", 4),
                        checkpoint_path(dir.path() + "/best", 3));
  train(estimator, o, 6);
  EXPECT_THAT(saved_steps(dir.path() + "/best"), ElementsAre(4));
}

TEST_F(ValidateTest, WhatAKilledCopyLeftIsRemoved) {
  create_folders(dir.path() + "/best");
  write_file_atomically(dir.path() + "/best/.checkpoint-1.safetensors.tmp.99999999.0",
                        "half of it");
  Estimator estimator(options());
  train(estimator, {.every = Steps(1)}, 2);
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(dir.path() + "/best"))
    names.push_back(entry.path().filename());
  EXPECT_THAT(names, UnorderedElementsAre("best.json", "checkpoint-2.safetensors"));
}

TEST_F(ValidateTest, RemembersOverRestarts) {
  ValidateOptions o{.metric = "distance", .every = Steps(2), .patience = 3};
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
  o.patience = 4;
  EXPECT_EQ(restarted(100).global_step, 10);
  EXPECT_THAT(saved_steps(dir.path() + "/best"), ElementsAre(4));
}

TEST_F(ValidateTest, HigherMayBeBetterAndSmallChangesNotCount) {
  Estimator estimator(options());
  ValidateOptions o{.metric = "distance",
                    .better = Better::higher,
                    .every = Steps(1),
                    .patience = 2,
                    .keep_best = 0};
  EXPECT_EQ(train(estimator, o, 100).global_step, 3);  // 0.75 at step 1, then 0.5, 0.25
  EXPECT_EQ(best_checkpoint(dir.path()), std::nullopt);
  TemporaryFolder other;
  Estimator second({.model_fn = passing_seven, .model_dir = other.path(), .run = quiet()});
  // 7.75 at step 1, 7.5 at step 2: better by 1/4, which counts or does not.
  o.metric = "loss", o.better = Better::lower, o.patience = 1, o.min_change = 0.25;
  EXPECT_EQ(train(second, o, 4).global_step, 2);
  TemporaryFolder third_dir;
  Estimator third({.model_fn = passing_seven, .model_dir = third_dir.path(), .run = quiet()});
  o.min_change = 0.2;
  EXPECT_EQ(train(third, o, 4).outcome, Outcome::finished);
}

TEST_F(ValidateTest, DoesNotStopBelowTheFloorOfSteps) {
  Estimator estimator(options());
  ValidateOptions o{.metric = "distance", .every = Steps(2), .patience = 2, .min_steps = 9};
  EXPECT_EQ(train(estimator, o, 100).global_step, 12);  // the best is at 4; in vain at 10 and 12
  o.min_steps = 15;
  EXPECT_EQ(train(estimator, o, 100).global_step, 16);  // there are enough already
}

TEST_F(ValidateTest, KeepsTheBestFew) {
  ValidateOptions o{.metric = "distance", .every = Steps(1), .keep_best = 2};
  auto run = [&](std::int64_t max_steps) {
    Estimator estimator(options(saving_every(1)));
    train(estimator, o, max_steps);
    return saved_steps(dir.path() + "/best");
  };
  EXPECT_THAT(run(1), ElementsAre(1));
  EXPECT_THAT(run(3), ElementsAre(2, 3));
  EXPECT_THAT(run(6), ElementsAre(3, 4));  // 0.25 at step 5 is no better than at step 3
  EXPECT_EQ(best_checkpoint(dir.path()), checkpoint_path(dir.path() + "/best", 4));
  auto list = nlohmann::json::parse(read_file(dir / "best/best.json"));
  EXPECT_EQ(list, (nlohmann::json{
                      {"metric", "distance"},
                      {"better", "lower"},
                      {"kept",
                       {{{"file", "checkpoint-4.safetensors"}, {"step", 4}, {"value", 0.0}},
                        {{"file", "checkpoint-3.safetensors"}, {"step", 3}, {"value", 0.25}}}}}));
  o.min_change = 0.5;
  o.better = Better::lower;
  EXPECT_THAT(run(7), ElementsAre(3, 4));
  o.keep_best = 1;
  EXPECT_THAT(run(8), ElementsAre(3, 4));  // until there is a better one
}

// As a training that was killed after it wrote a checkpoint there, or before it removed one.
TEST_F(ValidateTest, CheckpointsThatAreNotInTheListGo) {
  ValidateOptions o{.metric = "distance", .every = Steps(1)};
  Estimator estimator(options(saving_every(1)));
  train(estimator, o, 2);
  std::filesystem::copy_file(checkpoint_path(dir / "best", 2), checkpoint_path(dir / "best", 1));
  write_file_atomically(dir / "best/notes.txt", "mine");
  train(estimator, o, 4);
  EXPECT_THAT(saved_steps(dir / "best"), ElementsAre(4));
  EXPECT_EQ(read_file(dir / "best/notes.txt"), "mine");
}

// Training goes on from a checkpoint that is older than the best, and gets worse this time.
TEST_F(ValidateTest, WhatIsKeptGivesWayToBetterOnesAloneWhateverTheCheckpointKnows) {
  ValidateOptions o{.metric = "distance", .every = Steps(1)};
  auto run = [&](std::int64_t max_steps) {
    Estimator estimator(options(saving_every(1)));
    train(estimator, o, max_steps);
  };
  run(4);
  for (std::int64_t step : {3, 4}) std::filesystem::remove(checkpoint_path(dir.path(), step));
  input = over_and_over({one_point(-1)});  // w rises from 7.5 again
  run(6);
  EXPECT_THAT(saved_steps(dir / "best"), ElementsAre(4));
  EXPECT_EQ(load_checkpoint(*best_checkpoint(dir.path())).variables.at("w").item(), 7);
}

// Training never evaluates step 4 again.
TEST_F(ValidateTest, ABestCheckpointThatWasWrittenAndNotListedIsKeptAfterARestart) {
  ValidateOptions o{.metric = "distance", .every = Steps(1)};
  kill_at(4, o);
  ASSERT_EQ(saved_steps(dir.path()).back(), 4);
  EXPECT_THAT(saved_steps(dir / "best"), ElementsAre(3));
  Estimator estimator(options(saving_every(1, 1)));
  train(estimator, o, 8);
  EXPECT_EQ(best_checkpoint(dir.path()), checkpoint_path(dir / "best", 4));
  EXPECT_EQ(read_best_list(dir / "best").value().front().value, 0);
}

// The same, with one that is not the best but among those to keep: 0.25 at step 5.
TEST_F(ValidateTest, SoIsOneThatIsAmongTheBestFew) {
  ValidateOptions o{.metric = "distance", .every = Steps(1), .keep_best = 3};
  kill_at(5, o);
  EXPECT_THAT(saved_steps(dir / "best"), ElementsAre(2, 3, 4));
  Estimator estimator(options(saving_every(100)));
  train(estimator, o, 8);
  EXPECT_THAT(saved_steps(dir / "best"), ElementsAre(3, 4, 5));
}

TEST_F(ValidateTest, KnowsTheBestOfAFolderWithoutAList) {
  ValidateOptions o{.metric = "distance", .every = Steps(1)};
  Estimator estimator(options());
  train(estimator, o, 5);
  std::filesystem::remove(dir / "best/best.json");
  EXPECT_EQ(best_checkpoint(dir.path()), checkpoint_path(dir / "best", 4));
  train(estimator, o, 7);
  EXPECT_THAT(saved_steps(dir / "best"), ElementsAre(4));
}

TEST_F(ValidateTest, AListOfAnotherMetricOrNoListIsAnError) {
  Estimator estimator(options());
  train(estimator, {.metric = "distance", .every = Steps(1)}, 2);
  auto refused = [&](ValidateOptions o) { return error_of([&] { train(estimator, o, 4); }); };
  EXPECT_THAT(refused({}), HasSubstr("/best` keeps the best by distance (lower is better), not by "
                                     "loss (lower is better); move it away to begin anew"));
  for (const char* bad :
       {"", "[]", R"({"metric": "distance", "better": "lower"})",
        R"({"metric": "distance", "better": "lower", "kept": [{"file": "x", "step": 1}]})",
        R"({"metric": "distance", "better": "lower",
            "kept": [{"file": "../x", "step": 1, "value": 0}]})"}) {
    write_file_atomically(dir / "best/best.json", std::string_view(bad));
    EXPECT_THAT(refused({.metric = "distance"}),
                HasSubstr("is no list of the best; move its folder away"));
    EXPECT_THAT(error_of([&] { best_checkpoint(dir.path()); }), HasSubstr("is no list"));
  }
}

TEST_F(ValidateTest, TwoKeepTheirBestInFoldersOfTheirOwn) {
  auto run = [&](ValidateOptions one, ValidateOptions other, std::int64_t max_steps) {
    Estimator estimator(options(saving_every(1)));
    InputFn test = once({one_point()});
    estimator.train(input,
                    {.max_steps = max_steps,
                     .hooks = {validate(estimator, test, one), validate(estimator, test, other)}});
  };
  ValidateOptions loss{.every = Steps(1)}, near{.metric = "distance", .every = Steps(1)};
  EXPECT_THAT(error_of([&] { run(loss, near, 2); }),
              HasSubstr("/best` keeps the best loss of validate already, not the best distance "
                        "too; give one of them another name (ValidateOptions::name, "));
  EXPECT_THAT(saved_steps(dir / "best"), testing::IsEmpty());
  near.name = "near";
  run(loss, near, 2);
  run(loss, near, 6);
  EXPECT_THAT(saved_steps(dir / "best"), ElementsAre(6));
  EXPECT_EQ(best_checkpoint(dir.path(), "near"), checkpoint_path(dir / "best_near", 4));
  // It remembers by its name: 0.25 at step 5 and 0.5 at step 6 were in vain.
  near.patience = 3;
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
    return validate(watched, once({one_point(3)}), {.every = Steps(1)});
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
                 {.metric = "gap", .better = better, .every = Steps(1), .patience = patience},
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
                 {.metric = "nearness", .better = Better::higher, .every = Steps(1), .patience = 3},
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
  EXPECT_THAT(error_of([&] { train(estimator, {.every = Steps(1)}, 100); }),
              HasSubstr("above is infinite after step 5"));
  EXPECT_THAT(saved_steps(dir.path() + "/best"), ElementsAre(4));
}

TEST_F(ValidateTest, LogsWhatItFound) {
  CapturedLog log;
  Estimator estimator(options());
  train(estimator, {.metric = "distance", .every = Steps(4)}, 5);
  EXPECT_THAT(log.info, HasSubstr("step 4: evaluated distance = 0, loss = 7\n"));
  EXPECT_THAT(log.info, HasSubstr("step 5: evaluated distance = 0.25, loss = 6.75; the best "
                                  "distance was 0 at step 4\n"));
}

TEST_F(ValidateTest, WritesWhatItFoundForTensorBoard) {
  Estimator estimator(options());
  train(estimator, {.name = "v", .metric = "distance", .every = Steps(4)}, 5);
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
  ValidateOptions near{.metric = "distance", .every = Steps(1), .target = 0.5, .keep_best = 0};
  Estimator estimator(options());
  TrainResult result = train(estimator, near, 100);
  EXPECT_EQ(result.global_step, 2);
  EXPECT_EQ(result.reason, "validate: distance is 0.5 at step 2, which is as good as 0.5");
  EXPECT_EQ(train(estimator, near, 100).steps, 0);  // nor does it go on after a restart
  near.target.reset();
  EXPECT_EQ(train(estimator, near, 5).global_step, 5);
  ValidateOptions high{
      .better = Better::higher, .every = Steps(1), .min_steps = 7, .target = 6, .keep_best = 0};
  EXPECT_EQ(train(estimator, high, 100).global_step, 7);  // 6.25
}

TEST_F(ValidateTest, WhatMakesNoSenseIsRefused) {
  Estimator estimator(options());
  InputFn data = once({one_point()});
  auto refused = [&](ValidateOptions o) { return error_of([&] { validate(estimator, data, o); }); };
  EXPECT_EQ(refused({.every = Steps(0)}), "validate: every must be at least 1 step, got 0");
  EXPECT_EQ(refused({.patience = -1}), "validate: patience must be at least 0, got -1");
  EXPECT_EQ(refused({.min_steps = -1}), "validate: min_steps must be at least 0, got -1");
  EXPECT_EQ(refused({.keep_best = -1}), "validate: keep_best must be at least 0, got -1");
  EXPECT_EQ(refused({.min_change = -1}), "validate: min_change must be at least 0, got -1");
  EXPECT_THAT(refused({.name = "a/b"}), HasSubstr("`a/b` is no name"));
  EXPECT_THAT(refused({.evaluate = {.checkpoint = "x"}}), HasSubstr("not the checkpoint x"));
  std::stop_source stop;
  EXPECT_THAT(refused({.evaluate = {.stop = stop.get_token()}}), HasSubstr("evaluate.stop is"));
  EXPECT_EQ(refused({.evaluate = {.steps = 0}}), "validate: steps must be above 0, got 0");
  auto broken = validate(estimator, [](const InputContext&) -> InputStreamPtr { fail("no data"); },
                         {.name = "v", .every = Steps(1)});
  EXPECT_EQ(error_of([&] { estimator.train(input, {.hooks = {broken}}); }),
            "no data (in validate `v`, tried out first) (in training step 1)");
  EXPECT_THAT(error_of([&] { train(estimator, {.metric = "dise", .every = Steps(1)}, 1); }),
              HasSubstr("there is no result `dise` that is a number; there are global_step, loss, "
                        "distance; the nearest is `distance`"));
  auto hook = validate(estimator, data);
  EXPECT_EQ(error_of([&] { hook->restore("{}"); }),
            "validate: its state in the checkpoint is damaged: {}");
  EXPECT_THAT(error_of([&] { hook->restore(R"({"best": "{}", "examples": 0})"); }),
              HasSubstr("validate: its state has no number `best`: {}"));
  EXPECT_EQ(error_of([&] { validate(estimator, nullptr); }), "validate: there is no input_fn");
}

}  // namespace
}  // namespace belfry::hooks
