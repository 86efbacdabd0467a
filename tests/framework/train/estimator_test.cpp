#include "belfry/framework/train/estimator.h"

#include "training_testing.h"

namespace belfry {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::StartsWith;

// ---- train

TEST(Estimator, TrainsByTheNumbers) {
  TemporaryFolder dir;
  Estimator estimator({.model_fn = linear, .model_dir = dir.path(), .run = quiet()});
  // d loss / dw = d loss / db = 2 (w + b - 1), so each step halves... w + b goes 0, 1, 1.
  TrainResult result = estimator.train(over_and_over({one_point()}), {.steps = 1});
  EXPECT_EQ(result.loss, 1);
  EXPECT_EQ(result.global_step, 1);
  EXPECT_EQ(result.steps, 1);
  EXPECT_EQ(result.examples, 1);
  EXPECT_EQ(result.outcome, Outcome::finished);
  EXPECT_EQ(result.reason, "");
  EXPECT_EQ(scalar(estimator, "line/kernel"), 0.5);
  EXPECT_EQ(scalar(estimator, "line/bias"), 0.5);
}

TEST(Estimator, StepsAreOfTheCallAndMaxStepsAreTotal) {
  TemporaryFolder dir;
  Estimator estimator({.model_fn = falling, .model_dir = dir.path(), .run = quiet()});
  InputFn input = over_and_over({one_point()});
  EXPECT_EQ(estimator.train(input, {.steps = 3}).global_step, 3);
  EXPECT_EQ(estimator.train(input, {.steps = 2}).global_step, 5);
  EXPECT_EQ(estimator.train(input, {.max_steps = 7}).steps, 2);
  EXPECT_EQ(estimator.train(input, {.max_steps = 20, .steps = 1}).global_step, 8);
  EXPECT_EQ(estimator.train(input, {.max_steps = 9, .steps = 5}).global_step, 9);
  EXPECT_EQ(scalar(estimator, "w"), 8 - 9 * 0.25);
}

TEST(Estimator, AtMaxStepsThereIsNothingToDo) {
  TemporaryFolder dir;
  Estimator estimator({.model_fn = falling, .model_dir = dir.path(), .run = quiet()});
  estimator.train(over_and_over({one_point()}), {.max_steps = 4});
  CapturedLog log;
  int opened = 0;
  auto counting = [&] {
    ++opened;
    return std::make_unique<Batches>(std::vector{one_point()}, true);
  };
  TrainResult result = estimator.train(counting, {.max_steps = 4});
  EXPECT_EQ(result.steps, 0);
  EXPECT_EQ(result.global_step, 4);
  EXPECT_EQ(result.outcome, Outcome::finished);
  EXPECT_EQ(opened, 0);
  EXPECT_THAT(log.info, HasSubstr("nothing to do, step 4 has reached max_steps 4"));
  Training training = estimator.start(over_and_over({one_point()}), {.max_steps = 3});
  EXPECT_FALSE(training.step());
  EXPECT_EQ(training.finish().steps, 0);
}

TEST(Estimator, LimitsMustBeAboveZero) {
  TemporaryFolder dir;
  Estimator estimator({.model_fn = falling, .model_dir = dir.path(), .run = quiet()});
  InputFn input = over_and_over({one_point()});
  EXPECT_EQ(error_of([&] { estimator.train(input, {.steps = 0}); }),
            "train: steps must be above 0, got 0");
  EXPECT_EQ(error_of([&] { estimator.train(input, {.max_steps = 0}); }),
            "train: max_steps must be above 0, got 0");
  EXPECT_EQ(error_of([&] { estimator.train(input, {.max_steps = -5}); }),
            "train: max_steps must be above 0, got -5");
  EXPECT_EQ(error_of([&] { estimator.evaluate(input, {.steps = 0}); }),
            "evaluate: steps must be above 0, got 0");
}

TEST(Estimator, TheEndOfTheDataEndsTraining) {
  TemporaryFolder dir;
  Estimator estimator({.model_fn = falling, .model_dir = dir.path(), .run = quiet()});
  InputFn input = once({one_point(), one_point(), one_point()});
  TrainResult result = estimator.train(input);
  EXPECT_EQ(result.steps, 3);
  EXPECT_EQ(result.outcome, Outcome::finished);
  EXPECT_EQ(estimator.train(input).global_step, 6);  // the data begin anew
  EXPECT_EQ(estimator.train(once({}), {.max_steps = 9}).steps, 0);
}

TEST(Estimator, AShortLastBatchIsOneMorePlan) {
  TemporaryFolder dir;
  int calls = 0;
  auto counting = [&](Scope s, const Batch& batch, Mode mode) {
    ++calls;
    return falling(std::move(s), batch, mode);
  };
  Estimator estimator({.model_fn = counting, .model_dir = dir.path(), .run = quiet()});
  Features full = points({2, 2, 2, 2}, {0, 0, 0, 0}), rest = points({4}, {0});
  TrainResult result = estimator.train(over_and_over({full, full, rest}), {.steps = 6});
  EXPECT_EQ(calls, 2);
  EXPECT_EQ(result.examples, 2 * (4 + 4 + 1));
  EXPECT_EQ(scalar(estimator, "w"), 8 - 0.25 * 2 * (2 + 2 + 4));
}

TEST(Estimator, CallsModelFnOnceForEachModeAndSignature) {
  TemporaryFolder dir;
  std::vector<std::string> calls;
  auto recording = [&](Scope s, const Batch& batch, Mode mode) {
    calls.push_back(concat(mode, " ", batch.rows()));
    return linear(std::move(s), batch, mode);
  };
  Estimator estimator({.model_fn = recording, .model_dir = dir.path(), .run = quiet()});
  Features two = points({1, 2}, {1, 2}), one = one_point();
  estimator.train(over_and_over({two, one}), {.steps = 5});
  for (int i = 0; i < 3; ++i) {
    estimator.evaluate(once({two, one}));
    Predictions predictions = estimator.predict(once({two, one}));
    Features p;
    while (predictions.next(p)) {
    }
  }
  EXPECT_THAT(calls, ElementsAre("train 2", "train 1", "evaluate 2", "evaluate 1", "predict 2",
                                 "predict 1"));
}

TEST(Estimator, ASubclassMayOverrideModelFn) {
  struct Mine final : Estimator {
    using Estimator::Estimator;
    EstimatorSpec model_fn(Scope s, const Batch& batch, Mode mode) override {
      return falling(std::move(s), batch, mode);
    }
  };
  TemporaryFolder dir;
  Mine mine({.model_dir = dir.path(), .run = quiet()});
  mine.train(over_and_over({one_point()}), {.steps = 2});
  EXPECT_EQ(scalar(mine, "w"), 7.5);
}

TEST(Estimator, StepByStepIsTheSameAsTrain) {
  TemporaryFolder dir;
  Estimator estimator({.model_fn = falling, .model_dir = dir.path(), .run = quiet()});
  Training training = estimator.start(over_and_over({one_point()}), {.steps = 3});
  std::vector<double> losses;
  while (training.step()) losses.push_back(training.result().loss);
  EXPECT_THAT(losses, ElementsAre(8, 7.75, 7.5));
  EXPECT_EQ(training.finish().global_step, 3);
  EXPECT_FALSE(training.step());
  EXPECT_EQ(training.finish().steps, 3);
  EXPECT_THAT(saved_steps(dir.path()), ElementsAre(0, 3));
}

TEST(Estimator, AnAbandonedTrainingEndsAsStopped) {
  TemporaryFolder dir;
  Estimator estimator({.model_fn = falling, .model_dir = dir.path(), .run = quiet()});
  {
    Training training = estimator.start(over_and_over({one_point()}));
    training.step();
  }
  EXPECT_THAT(saved_steps(dir.path()), ElementsAre(0, 1));
}

TEST(Estimator, AnAbandonedTrainingThrowsNothing) {
  struct Thrower final : Hook {
    void end(HookContext&, Outcome) override { throw 42; }
  };
  TemporaryFolder dir;
  Estimator estimator({.model_fn = falling, .model_dir = dir.path(), .run = quiet()});
  CapturedLog captured;
  {
    Training training =
        estimator.start(over_and_over({one_point()}), {.hooks = {std::make_shared<Thrower>()}});
    training.step();
  }
  EXPECT_EQ(captured.warnings, "train: while ending an abandoned training: an unknown exception\n");
}

TEST(Estimator, WarnsOfNoTrainedStateAndOfNoData) {
  TemporaryFolder dir;
  Estimator estimator({.model_fn = falling, .model_dir = dir.path(), .run = quiet()});
  CapturedLog captured;
  estimator.evaluate(once({one_point()}));
  EXPECT_EQ(captured.warnings, "nothing was trained and " + dir.path()
                                   + " has no checkpoint: the variables have their first values\n");
  captured.warnings.clear();
  EXPECT_EQ(estimator.train(once({}), {.steps = 2}).steps, 0);
  EXPECT_EQ(captured.warnings, "train: the input has no batch, so no step is run\n");
}

TEST(Estimator, ALossOfShapeOneCountsAsAScalar) {
  TemporaryFolder dir;
  auto model = [](Scope s, const Batch& batch, Mode mode) {
    EstimatorSpec spec = falling(std::move(s), batch, mode);
    spec.loss = reshape(spec.loss, {1});
    return spec;
  };
  Estimator estimator({.model_fn = model, .model_dir = dir.path(), .run = quiet()});
  EXPECT_EQ(estimator.train(over_and_over({one_point()}), {.steps = 2}).loss, 7.75);
  EXPECT_EQ(estimator.evaluate(once({one_point()})).at("loss"), 7.5);
}

TEST(Estimator, ValuesAreThoseThatTheStepReads) {
  TemporaryFolder dir;
  Estimator estimator({.model_fn = falling, .model_dir = dir.path(), .run = quiet()});
  struct Watch final : Hook {
    void after_step(const StepResult& r) override { seen.push_back(r.value("w")); }
    std::vector<double> seen;
  };
  auto watch = std::make_shared<Watch>();
  estimator.train(over_and_over({one_point()}), {.steps = 3, .hooks = {watch}});
  EXPECT_THAT(watch->seen, ElementsAre(8, 7.75, 7.5));  // a variable is read before the update
}

// ---- predict

TEST(Estimator, PredictsOneExampleAtATime) {
  TemporaryFolder dir;
  Estimator estimator({.model_fn = linear, .model_dir = dir.path(), .run = quiet()});
  estimator.train(over_and_over({one_point()}), {.steps = 1});  // w = b = 1/2
  InputFn input = once({points({1, 2}, {0, 0}), points({}, {}), points({5}, {0})});
  std::vector<double> y, twice;
  for (const Features& p : estimator.predict(input)) {
    EXPECT_EQ(p.at("y").shape(), (Shape{1}));
    y.push_back(p.at("y").item());
    twice.push_back(p.at("twice").item());
  }
  EXPECT_THAT(y, ElementsAre(1, 1.5, 3));
  EXPECT_THAT(twice, ElementsAre(2, 3, 6));
}

TEST(Estimator, PredictionIsLazyAndKeepsItsArrays) {
  TemporaryFolder dir;
  int built = 0;
  auto counting = [&](Scope s, const Batch& batch, Mode mode) {
    ++built;
    return linear(std::move(s), batch, mode);
  };
  Estimator estimator({.model_fn = counting, .model_dir = dir.path(), .run = quiet()});
  estimator.train(over_and_over({one_point()}), {.steps = 1});
  built = 0;
  Predictions predictions = estimator.predict(over_and_over({one_point(1), one_point(3)}));
  EXPECT_EQ(built, 0);
  Features first, second;
  ASSERT_TRUE(predictions.next(first));
  ASSERT_TRUE(predictions.next(second));
  EXPECT_EQ(built, 1);
  EXPECT_EQ(first.at("y").item(), 1);
  EXPECT_EQ(second.at("y").item(), 2);
}

TEST(Estimator, PredictsWholeBatchesAndChosenKeys) {
  TemporaryFolder dir;
  Estimator estimator({.model_fn = linear, .model_dir = dir.path(), .run = quiet()});
  InputFn input = once({points({1, 2, 3}, {0, 0, 0})});
  Predictions batches = estimator.predict(input, {.keys = {"twice"}, .single_examples = false});
  Features p;
  ASSERT_TRUE(batches.next(p));
  EXPECT_EQ(p.size(), 1u);
  EXPECT_EQ(p.at("twice").shape(), (Shape{3, 1}));
  EXPECT_FALSE(batches.next(p));
  Predictions wrong = estimator.predict(input, {.keys = {"digit"}});
  EXPECT_EQ(error_of([&] { wrong.next(p); }),
            "predict: there is no prediction `digit`; the model has y, twice");
}

TEST(Estimator, SingleExamplesNeedOneRowEach) {
  TemporaryFolder dir;
  auto model = [](Scope s, const Batch& batch, Mode) -> EstimatorSpec {
    Tensor y = dense(s / "line", batch["x"], {.units = 1});
    return {.predictions = {{"mean", mean(y)}, {"doubled", concat({y, y}, 0)}, {"y", y}}};
  };
  Estimator estimator({.model_fn = model, .model_dir = dir.path(), .run = quiet()});
  Features p;
  auto error = [&](const std::string& key, const Features& batch) {
    return error_of([&] { estimator.predict(once({batch}), {.keys = {key}}).next(p); });
  };
  EXPECT_EQ(error("mean", points({1, 2}, {0, 0})),
            "predict: the prediction `mean` is f32[] for 2 rows, but single examples need one row "
            "an example; ask for whole batches with .single_examples = false, or leave it out with "
            ".keys");
  EXPECT_THAT(error("doubled", points({1}, {0})),
              testing::HasSubstr("`doubled` is f32[2, 1] for 1 row, but single"));
  EXPECT_EQ(error("y", points({1, 2}, {0, 0})), "no error");
  Predictions whole = estimator.predict(once({points({1, 2}, {0, 0})}), {.single_examples = false});
  ASSERT_TRUE(whole.next(p));
  EXPECT_EQ(p.at("mean").shape(), Shape());
}

TEST(Estimator, TwoPredictorsMayBeReadInTurn) {
  TemporaryFolder dir;
  Estimator estimator({.model_fn = linear, .model_dir = dir.path(), .run = saving_every(1)});
  estimator.train(over_and_over({one_point()}), {.steps = 1});
  Predictions a = estimator.predict(once({points({1, 2}, {0, 0}), points({3, 4}, {0, 0})}));
  Predictions b = estimator.predict(once({points({11, 12}, {0, 0}), points({13, 14}, {0, 0})}),
                                    {.checkpoint = checkpoint_path(dir.path(), 0)});
  std::vector<double> seen;
  Features p;
  while (a.next(p)) {
    seen.push_back(p.at("y").item());
    ASSERT_TRUE(b.next(p));
    seen.push_back(p.at("y").item());
  }
  EXPECT_FALSE(b.next(p));
  EXPECT_THAT(seen, ElementsAre(1, 0, 1.5, 0, 2, 0, 2.5, 0));
}

// y = 2 x w of a step from w = 0, whose gradient is -2 x y: w = 1/2 and b = 1/2 after it.
TEST(Estimator, ACheckpointMayBeAModelDir) {
  TemporaryFolder trained;
  Estimator({.model_fn = linear, .model_dir = trained.path(), .run = quiet()})
      .train(over_and_over({one_point()}), {.steps = 1});
  Estimator other({.model_fn = linear, .run = saving_nothing()});
  InputFn input = once({one_point(3, 5)});
  EvalResult found = other.evaluate(input, {.checkpoint = trained.path()});
  EXPECT_EQ(found.at("global_step"), 1);
  EXPECT_EQ(found.at("error"), 3);
  Features p;
  ASSERT_TRUE(other.predict(input, {.checkpoint = trained.path()}).next(p));
  EXPECT_EQ(p.at("y").item(), 2);
}

TEST(Estimator, SaysOnWhatItTrains) {
  auto line = [](std::vector<std::string> devices, int threads) {
    RunConfig config = saving_nothing();
    config.devices = std::move(devices);
    config.threads = threads;
    CapturedLog log;
    Estimator estimator({.model_fn = falling, .run = config});
    estimator.train(over_and_over({points({1, 2}, {0, 0})}), {.steps = 1});
    return log.info.substr(0, log.info.find('\n'));
  };
  std::string device = find_device("cpu")->description();  // "cpu:0, 2 cores"
  EXPECT_EQ(line({"cpu"}, 1), "training on " + device + ", 1 thread, global batch 2 = 1 tower x 2");
  EXPECT_EQ(line({"cpu"}, 3),
            "training on " + device + ", up to 3 threads, global batch 2 = 1 tower x 2");
  EXPECT_EQ(line({"cpu:0", "cpu:1"}, 1),
            "training on cpu:0, cpu:1, 1 thread each, global batch 2 = 2 towers x 1");
}

// Whatever the step: of several checkpoints, the predictions differ by what was learnt.
TEST(Estimator, PredictionsDrawTheSameNumbersAtEveryStep) {
  TemporaryFolder dir;
  auto model = [](Scope s, const Batch& batch, Mode mode) -> EstimatorSpec {
    if (mode == Mode::train) return falling(s, batch, mode);
    Tensor steps = broadcast_to(reshape(global_step(s.graph()), {1}), {batch.rows()});
    return {.predictions = {{"drawn", random_normal(s, {batch.rows(), 3})}, {"steps", steps}}};
  };
  Estimator estimator({.model_fn = model, .model_dir = dir.path(), .run = saving_every(1)});
  estimator.train(over_and_over({one_point()}), {.steps = 2});
  auto input = once({points({1, 2}, {0, 0})});
  Predictions a = estimator.predict(input, {.checkpoint = checkpoint_path(dir.path(), 0)});
  Predictions b = estimator.predict(input);
  Features first, later;
  for (int row : {0, 1}) {
    ASSERT_TRUE(a.next(first) && b.next(later));
    EXPECT_TRUE(identical(first.at("drawn"), later.at("drawn"))) << row;
    EXPECT_EQ(first.at("steps").item(), 0);
    EXPECT_EQ(later.at("steps").item(), 2);
  }
}

// ---- variables and the rest

TEST(Estimator, GivesVariablesByName) {
  TemporaryFolder dir;
  auto model = [](Scope s, const Batch& batch, Mode mode) {
    EstimatorSpec spec = falling(std::move(s), batch, mode);
    spec.train = momentum({.learning_rate = 0.25});
    return spec;
  };
  EstimatorOptions options{.model_fn = model, .model_dir = dir.path(), .run = quiet()};
  Estimator estimator(options);
  EXPECT_EQ(
      error_of([&] { estimator.variable_names(); }),
      "there are no variables yet: nothing was trained and " + dir.path() + " has no checkpoint");
  EXPECT_EQ(error_of([&] { estimator.variable_value("w"); }),
            "there is no variable `w`; the model has none yet");
  estimator.train(over_and_over({one_point()}), {.steps = 1});
  EXPECT_THAT(estimator.variable_names(), ElementsAre("w", "w/momentum/accumulator"));
  Estimator later(options);  // from the checkpoint, before any model is built
  EXPECT_THAT(later.variable_names(), ElementsAre("w", "w/momentum/accumulator"));
  EXPECT_EQ(scalar(later, "w"), 7.75);
  EXPECT_EQ(scalar(later, "w/momentum/accumulator"), 1);
  EXPECT_EQ(error_of([&] { later.variable_value("v"); }),
            "there is no variable `v`; the model has w, w/momentum/accumulator");
}

TEST(Estimator, ExplainRunsNothing) {
  TemporaryFolder dir;
  Estimator estimator({.model_fn = linear, .model_dir = dir.path(), .run = quiet()});
  std::string plan = estimator.explain(once({one_point()}));
  EXPECT_THAT(plan, StartsWith("plan: "));
  EXPECT_THAT(plan, HasSubstr("matmul"));
  EXPECT_THAT(plan, HasSubstr("line/matmul"));
  EXPECT_THAT(plan, HasSubstr("memory: "));
  EXPECT_EQ(error_of([&] { estimator.variable_names(); }).substr(0, 26),
            "there are no variables yet");
  EXPECT_TRUE(dir.names().empty());
}

TEST(Estimator, AFailureBeforeAnyStepKeepsTheLiveState) {
  TemporaryFolder dir;
  Estimator estimator({.model_fn = falling, .model_dir = dir.path(), .run = saving_nothing()});
  estimator.train(over_and_over({one_point()}), {.steps = 4});
  Features odd{{"z", Array::scalar(1.0f)}};
  EXPECT_THAT(error_of([&] { estimator.train(over_and_over({odd}), {.steps = 1}); }),
              HasSubstr("unknown feature `x`"));
  EXPECT_EQ(scalar(estimator, "w"), 7);
  EXPECT_EQ(estimator.train(over_and_over({one_point()}), {.steps = 1}).global_step, 5);
}

// As another process would be; who only reads is not.
TEST(ModelDir, IsWrittenByOneTraining) {
  TemporaryFolder dir;
  auto make = [&](RunConfig run = quiet()) {
    return Estimator({.model_fn = linear, .model_dir = dir.path(), .run = std::move(run)});
  };
  Estimator first = make(), second = make();
  {
    Training training = first.start(over_and_over({one_point()}));
    training.step();
    EXPECT_THAT(error_of([&] { second.train(over_and_over({one_point()}), {.steps = 1}); }),
                AllOf(HasSubstr("model_dir: somebody else trains in `" + dir.path() + "`: process "
                                + text(getpid()) + " on host "),
                      HasSubstr("wait for its end, stop it, or use another model_dir")));
    EXPECT_EQ(second.evaluate(once({one_point()})).at("global_step"), 0);
    // Its hooks might write.
    EXPECT_THAT(error_of([&] { make(saving_nothing()).train(once({one_point()})); }),
                HasSubstr("somebody else trains in"));
    training.finish();
  }
  EXPECT_EQ(second.train(over_and_over({one_point()}), {.steps = 1}).global_step, 2);
  EXPECT_FALSE(std::filesystem::exists(dir / "training.lock"));
}

TEST(ModelDir, IsWrittenByOneTrainingThatSavesNothingAndMakesIt) {
  TemporaryFolder dir;
  EstimatorOptions options{
      .model_fn = linear, .model_dir = dir / "made/now", .run = saving_nothing()};
  Estimator first(options), second(options);
  Training training = first.start(over_and_over({one_point()}));
  EXPECT_THAT(error_of([&] { second.start(over_and_over({one_point()})); }),
              HasSubstr("somebody else trains in"));
  training.finish();
}

TEST(ModelDir, IsThatOfTheClusterIfThereIsNoOther) {
  TemporaryFolder dir, own;
  setenv("TF_CONFIG", concat(R"({"model_dir": ")", dir.path(), R"("})").c_str(), 1);
  Estimator named({.model_fn = linear, .run = quiet()});
  Estimator other({.model_fn = linear, .model_dir = own.path(), .run = quiet()});
  unsetenv("TF_CONFIG");
  EXPECT_EQ(named.model_dir(), dir.path());
  EXPECT_EQ(other.model_dir(), own.path());
}

TEST(Estimator, TrainsOnceAtATime) {
  TemporaryFolder dir;
  Estimator estimator({.model_fn = linear, .model_dir = dir.path(), .run = saving_nothing()});
  Training training = estimator.start(over_and_over({one_point()}));
  EXPECT_THAT(error_of([&] { estimator.train(over_and_over({one_point()}), {.steps = 1}); }),
              HasSubstr("train: this Estimator is training already; finish() or destroy"));
  training.finish();
  EXPECT_EQ(estimator.train(over_and_over({one_point()}), {.steps = 1}).steps, 1);
}

TEST(Estimator, MoreStepsThanCanBeCountedAreAsManyAsThereAre) {
  TemporaryFolder dir;
  Estimator estimator({.model_fn = linear, .model_dir = dir.path(), .run = quiet()});
  estimator.train(over_and_over({one_point()}), {.steps = 3});
  constexpr std::int64_t most = std::numeric_limits<std::int64_t>::max();
  InputFn two = once({one_point(), one_point()});
  EXPECT_EQ(estimator.train(two, {.steps = most, .resume_input = false}).steps, 2);
  EXPECT_EQ(estimator.train(two, {.max_steps = most, .resume_input = false}).steps, 2);
}

TEST(Estimator, ANullListenerIsAnError) {
  TemporaryFolder dir;
  Estimator estimator({.model_fn = linear, .model_dir = dir.path(), .run = quiet()});
  EXPECT_EQ(error_of([&] { estimator.train(once({one_point()}), {.listeners = {nullptr}}); }),
            "train: a checkpoint listener is null");
}

}  // namespace
}  // namespace belfry
