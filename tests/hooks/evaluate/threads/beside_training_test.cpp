// Evaluation on devices of its own, in a thread of its own.

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <mutex>
#include <set>
#include <thread>

#include "../evaluation_testing.h"

namespace belfry {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsSubsetOf;

/// Training, step by step, tells where it is; others wait for it.
class Steppings final : public Hook {
 public:
  void after_step(const StepResult& result) override {
    std::lock_guard lock(mutex_);
    step_ = result.step;
    changed_.notify_all();
  }
  void wait_for(std::int64_t step) {
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, std::chrono::seconds(60), [&] { return step_ >= step; });
    EXPECT_GE(step_, step) << "training does not go on";
  }

 private:
  std::mutex mutex_;  // guards everything below
  std::condition_variable changed_;
  std::int64_t step_ = 0;
};

struct BesideTraining : EvaluationTest {
  EvalSpec spec(std::vector<std::shared_ptr<Exporter>> exporters = {}) const {
    return {.name = "t",
            .input_fn = test,
            .every = Steps(2),
            .metric = "distance",
            .exporters = std::move(exporters),
            .devices = {"cpu:1"}};
  }
};

// The evaluation of step 2 does not end before step 7, when the one checkpoint kept is newer.
TEST_F(BesideTraining, TrainingGoesOnMeanwhile) {
  auto steppings = std::make_shared<Steppings>();
  auto threads = std::make_shared<std::set<std::thread::id>>();
  EvalSpec slow = spec({seen, best_exporter({.model = of_x(), .metric = "distance"})});
  slow.keep_best = 1;
  slow.input_fn = [&, calls = 0]() mutable -> InputStreamPtr {
    if (++calls > 1) threads->insert(std::this_thread::get_id());  // the first tries it out
    if (calls == 2) steppings->wait_for(7);
    return std::make_unique<Batches>(std::vector{one_point()}, false);
  };
  Estimator estimator(options(saving_every(1, 1)));
  auto result =
      train_and_evaluate(estimator, {input, {.max_steps = 9, .hooks = {steppings}}}, {slow});
  ASSERT_GE(seen->steps.size(), 2u);
  EXPECT_EQ(seen->steps.front(), 2);
  EXPECT_EQ(seen->steps.back(), 9);
  EXPECT_THAT(seen->steps, IsSubsetOf({2, 8, 9}));
  EXPECT_THAT(seen->ends, ElementsAre(9));
  EXPECT_FALSE(threads->contains(std::this_thread::get_id()));
  EXPECT_EQ(result.evaluations.at("t").at("global_step"), 9);
  EXPECT_EQ(result.best.at("t").step, 2);  // 0.5, then 1 and 1.25
  EXPECT_EQ(result.best.at("t").value, 0.5);
  EXPECT_THAT(saved_steps(dir / "best_t"), ElementsAre(2));
  ASSERT_EQ(result.exports.size(), 1u);
  EXPECT_EQ(result.exports[0].step, 2);
  EXPECT_EQ(exported_step(result.exports[0].path), 2);
  EXPECT_FALSE(std::filesystem::exists(dir / "evaluating_t"));
}

TEST_F(BesideTraining, StopsTrainingAndChangesNothingOfIt) {
  EvalSpec stops = spec({seen});
  stops.every = Steps(1);
  stops.early_stopping.patience = 1;
  RunConfig background = saving_every(3);
  background.save_in_background = true;
  Estimator watched(options(background));
  auto result = train_and_evaluate(watched, {input, {.max_steps = 1'000'000}}, {stops});
  EXPECT_EQ(result.train.outcome, Outcome::stopped);
  EXPECT_THAT(result.train.reason, HasSubstr("evaluation `t`: no better distance in 1"));
  EXPECT_LT(result.train.global_step, 1'000'000);
  EXPECT_EQ(seen->steps.back(), result.train.global_step);
  EXPECT_EQ(scalar(watched, "w"), 8 - 0.25 * static_cast<double>(result.train.global_step));
}

// Each step wants an evaluation while checkpoint 1 is still being written, in the background: it is
// the first that is evaluated, not given up for a later one that is not written then either.
TEST_F(BesideTraining, DoesNotStarveWhileCheckpointsAreWritten) {
  EvalSpec each = spec({seen});
  each.every = Steps(1);
  RunConfig background = saving_every(100);
  background.save_in_background = true;
  Estimator estimator({.model_fn =
                           [](Scope s, const Batch& batch, Mode mode) {
                             EstimatorSpec out = passing_seven(s, batch, mode);
                             if (mode == Mode::predict) return out;
                             // 4 MiB to write
                             Tensor ballast = s.variable("ballast", {.shape = {1 << 20}});
                             out.loss = out.loss + mean(ballast);
                             return out;
                           },
                       .model_dir = dir.path(),
                       .run = background});
  train_and_evaluate(estimator, {input, {.max_steps = 40}}, {each});
  EXPECT_THAT(seen->steps.front(), 1);
  EXPECT_THAT(seen->steps.back(), 40);
}

TEST_F(BesideTraining, EvaluatesCheckpointsAsTheyCome) {
  EvalSpec each = spec({seen});
  each.every = NewCheckpoint();
  train({each}, 9, saving_every(3));
  ASSERT_FALSE(seen->steps.empty());
  EXPECT_EQ(seen->steps.front(), 3);
  EXPECT_THAT(seen->steps, IsSubsetOf({3, 6, 9}));
  EXPECT_EQ(seen->steps.back(), 9);
}

TEST_F(BesideTraining, EvaluatesTheCheckpointThatItGoesOnFromIfNobodyHas) {
  Estimator(options(saving_every(3))).train(input, {.max_steps = 6});
  EvalSpec each = spec({seen});
  each.every = NewCheckpoint();
  train({each}, 9, saving_every(3));
  EXPECT_EQ(seen->steps.front(), 6);
  EXPECT_EQ(seen->steps.back(), 9);
  train({each}, 12, saving_every(3));
  EXPECT_EQ(std::ranges::count(seen->steps, 9), 1);
}

// A training that failed between two steps goes on from a state that only then is written.
TEST_F(BesideTraining, EvaluatesTheStateThatItGoesOnFromWhenThatIsWritten) {
  struct Fails final : Hook {
    void before_step(StepRequest& request) override {
      if (request.step == 5) fail("no more");
    }
  };
  EvalSpec each = spec({seen});
  each.every = NewCheckpoint();
  Estimator estimator(options(saving_every(3)));
  EXPECT_THAT(error_of([&] { estimator.train(input, {.hooks = {std::make_shared<Fails>()}}); }),
              HasSubstr("no more"));
  train_and_evaluate(estimator, {input, {.max_steps = 9}}, {each});
  EXPECT_EQ(seen->steps.front(), 5);
}

TEST_F(BesideTraining, BuildsTheModelOnce) {
  std::atomic<int> built = 0;
  EstimatorOptions counting = options(saving_every(1));
  counting.model_fn = [&](Scope s, const Batch& batch, Mode mode) {
    if (mode == Mode::evaluate) ++built;
    return passing_seven(s, batch, mode);
  };
  Estimator estimator(counting);
  auto latest = latest_exporter({.model = of_x(), .keep = {.newest = 0}});
  auto result = train_and_evaluate(estimator, {input, {.max_steps = 60}}, {spec({seen, latest})});
  ASSERT_GE(seen->steps.size(), 2u);
  EXPECT_EQ(built, 1);
  ASSERT_EQ(result.exports.size(), seen->steps.size());
  for (const ExportWritten& e : result.exports) {
    EXPECT_EQ(exported_step(e.path), static_cast<double>(e.step));
    EXPECT_TRUE(e.path.starts_with(dir / "export/latest/")) << e.path;
  }
}

TEST_F(BesideTraining, ATrainingWithNothingToDoIsEvaluatedThereToo) {
  struct Where final : Exporter {
    std::string name() const override { return "where"; }
    std::optional<std::string> after_evaluation(const EvaluatedState& state) override {
      devices = state.estimator.config().devices;
      return {};
    }
    std::vector<std::string> devices;
  };
  train({spec()}, 4);
  auto where = std::make_shared<Where>();
  EXPECT_EQ(train({spec({where})}, 4).evaluations.at("t").at("global_step"), 4);
  EXPECT_THAT(where->devices, ElementsAre("cpu:1"));
  EXPECT_FALSE(std::filesystem::exists(dir / "evaluating_t"));
}

TEST_F(BesideTraining, WhatItThrowsFailsTraining) {
  EvalSpec broken = spec();
  broken.input_fn = [&, first = true]() mutable -> InputStreamPtr {
    if (!std::exchange(first, false)) fail("no such file");
    return test();
  };
  EXPECT_THAT(error_of([&] { train({broken}, 1'000'000); }),
              HasSubstr("no such file (in evaluation `t`) (beside training)"));
  EXPECT_FALSE(std::filesystem::exists(dir / "evaluating_t"));
}

// Nobody but the failure asks for the last checkpoint.
TEST_F(BesideTraining, WhatItThrowsCostsNoStep) {
  struct Last final : Hook {
    void after_step(const StepResult& result) override { step = result.step; }
    std::int64_t step = 0;
  };
  auto last = std::make_shared<Last>();
  EvalSpec broken = spec();
  broken.input_fn = [&, opened = 0](const InputContext& context) mutable {
    if (++opened > 2) fail("no such file");
    return test(context);
  };
  Estimator estimator(options());
  EXPECT_THAT(
      error_of([&] {
        train_and_evaluate(estimator, {input, {.max_steps = 1'000'000, .hooks = {last}}}, {broken});
      }),
      HasSubstr("(beside training)"));
  EXPECT_EQ(saved_steps(dir.path()).back(), last->step);
  EXPECT_EQ(Estimator(options()).train(input, {.steps = 1}).global_step, last->step + 1);
}

TEST_F(BesideTraining, MayBeRefused) {
  EvalSpec odd = spec({seen});
  odd.wanted = [](std::int64_t step) { return step % 4 == 0; };
  train({odd}, 200);
  ASSERT_FALSE(seen->steps.empty());
  for (std::int64_t step : seen->steps) EXPECT_EQ(step % 4, 0);
  odd.wanted = [](std::int64_t) { return false; };
  EXPECT_TRUE(train({odd}, 300).evaluations.empty());
}

// Files that a killed training has left in the folder are neither evaluated nor in the way.
TEST_F(BesideTraining, BeginsWithAnEmptyFolder) {
  train({}, 4);
  std::filesystem::create_directories(dir / "evaluating_t");
  std::filesystem::copy(checkpoint_path(dir.path(), 4), checkpoint_path(dir / "evaluating_t", 4));
  std::filesystem::remove(checkpoint_path(dir.path(), 4));
  EXPECT_EQ(train({spec()}, 3).evaluations.at("t").at("global_step"), 3);
}

TEST_F(BesideTraining, TheVariablesOfItsModelAreTheTrainings) {
  EstimatorOptions differs = options();
  differs.model_fn = [](Scope s, const Batch& batch, Mode mode) {
    return passing_seven(mode == Mode::train ? s / "net" : s / "nets", batch, mode);
  };
  Estimator estimator(differs);
  EXPECT_THAT(
      error_of([&] {
        train_and_evaluate(estimator, {input, {.max_steps = 4}}, {spec()});
      }),
      HasSubstr("the model to evaluate has a variable `nets/w`, which training has not; the "
                "nearest is net/w"));
  EXPECT_TRUE(saved_steps(dir.path()).empty());
}

TEST_F(BesideTraining, AFailedTrainingEndsItAndTellsOfItself) {
  struct Fails final : Hook {
    void after_step(const StepResult& result) override {
      if (result.step == 3) fail("no more");
    }
  };
  Estimator estimator(options());
  EXPECT_THAT(error_of([&] {
                train_and_evaluate(estimator,
                                   {input, {.max_steps = 9, .hooks = {std::make_shared<Fails>()}}},
                                   {spec({seen})});
              }),
              HasSubstr("no more"));
  EXPECT_THAT(seen->steps, IsSubsetOf({2}));  // it may be cut short
  EXPECT_TRUE(seen->ends.empty());
  EXPECT_FALSE(std::filesystem::exists(dir / "evaluating_t"));
}

}  // namespace
}  // namespace belfry
