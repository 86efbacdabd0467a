// Predictions from other threads while an estimator trains.

#include <cmath>
#include <future>
#include <thread>

#include "../comparing.h"
#include "belfry/framework/optimizers/optimizers.h"
#include "belfry/framework/train/predictions.h"

namespace belfry {
namespace {

using ::testing::HasSubstr;

constexpr std::int64_t many = 1 << 14;

// loss = sum of (w + v) x with w = v = 8 at first, so that each element of both is 8 - step x / 4.
EstimatorSpec twins(Scope s, const Batch& batch, Mode mode) {
  Variable w = s.variable("w", {.shape = {many}, .initializer = constant_value(8)});
  Variable v = s.variable("v", {.shape = {many}, .initializer = constant_value(8)});
  Tensor apart = sum(abs(w.value() - v.value()));
  if (mode == Mode::predict)
    return {.predictions = {{"w", w.value()}, {"apart", apart}, {"twice", batch["x"] * 2}}};
  Tensor loss = sum(w.value() + v.value()) * mean(batch["x"]);
  return {.loss = loss, .train = sgd({.learning_rate = 0.25})};
}

struct LivePrediction : ::testing::Test {
  Estimator estimator_of(ModelFn model_fn) {
    return Estimator(
        {.model_fn = std::move(model_fn), .model_dir = dir.path(), .run = on_cpus(1, 1)});
  }
  TemporaryFolder dir;
  CapturedLog log;
  InputFn input = over_and_over({one_point(1.0f / 64)});
};

// The number of steps after which all of w is what was predicted.
double step_of(const Features& prediction) {
  EXPECT_EQ(prediction.at("apart").item(), 0);
  const Array& w = prediction.at("w");
  for (std::int64_t i = 0; i < many; ++i) EXPECT_EQ(w.at(i), w.at(0));
  return (8 - w.at(0)) * 256;
}

struct PredictEachStep final : Hook {
  explicit PredictEachStep(LivePredictor p) : predict(std::move(p)) {}
  void after_step(const StepResult& step) override {
    EXPECT_EQ(step_of(predict(one_point())), static_cast<double>(step.step));
  }
  LivePredictor predict;
};

// A training without an end does not keep the predictors from their turns, nor they it.
TEST_F(LivePrediction, IsOfAWholeStep) {
  Estimator estimator = estimator_of(twins);
  LivePredictor predict = estimator.predictor();
  EXPECT_EQ(step_of(predict(one_point())), 0);
  TrainControl control;
  std::vector<std::jthread> threads;
  for (std::int64_t rows : {1, 3})
    threads.emplace_back([&, predict, rows] {
      std::vector<float> x(static_cast<std::size_t>(rows), 5);
      double last = 0;
      for (int n = 0; n < 20 || control.progress().step < 20; ++n) {
        Features prediction = predict(points(x, x));
        EXPECT_EQ(prediction.at("twice").shape(), Shape({rows, 1}));
        double step = step_of(prediction);
        EXPECT_GE(step, last);
        EXPECT_EQ(step, std::floor(step));
        last = step;
      }
      if (rows == 1) control.request_stop();
    });
  Hooks hooks{std::make_shared<PredictEachStep>(predict)};
  TrainResult result = estimator.train(input, {.hooks = hooks, .control = &control});
  threads.clear();
  EXPECT_GE(result.steps, 20);
  EXPECT_EQ(step_of(predict(one_point())), static_cast<double>(result.steps));
}

EstimatorSpec classifier(Scope s, const Batch& batch, Mode mode) {
  Tensor x = dropout(s / "dropout", batch["x"], {.rate = 0.3f, .training = mode == Mode::train});
  Tensor logits = dense(s / "logits", relu(dense(s / "hidden", x, {.units = 8})), {.units = 3});
  if (mode == Mode::predict) return {.predictions = {{"logits", logits}}};
  return {.loss = mean(sparse_softmax_cross_entropy(logits, batch["label"])),
          .train = adam({.learning_rate = 0.1})};
}

// On one tower and on two; from the first step on.
TEST_F(LivePrediction, LeavesTrainingAsItIs) {
  InputFn labelled = over_and_over({labelled_rows(8, 0), labelled_rows(5, 1)});
  for (int towers : {1, 2}) {
    NamedArrays alone = variables_after(classifier, on_cpus(towers, 1), labelled, 40);
    TemporaryFolder folder;
    Estimator estimator(
        {.model_fn = classifier, .model_dir = folder.path(), .run = on_cpus(towers, 1)});
    LivePredictor predict = estimator.predictor({.keys = {"logits"}});
    std::vector<std::jthread> threads;
    for (int t = 0; t < 2; ++t)
      threads.emplace_back([&](const std::stop_token& stop) {
        while (!stop.stop_requested())
          EXPECT_EQ(predict(labelled_rows(4, 2)).at("logits").shape(), Shape({4, 3}));
      });
    estimator.train(labelled, {.max_steps = 40});
    threads.clear();
    NamedArrays beside;
    for (const std::string& name : estimator.variable_names())
      beside[name] = estimator.variable_value(name);
    expect_identical(alone, beside);
    Features row;
    Predictions whole = estimator.predict(once({labelled_rows(4, 2)}), {.single_examples = false});
    ASSERT_TRUE(whole.next(row));
    EXPECT_TRUE(identical(row.at("logits"), predict(labelled_rows(4, 2)).at("logits")));
  }
}

// Evaluations between two steps of the host's take turns with the predictors, too.
TEST_F(LivePrediction, BesideAHostsOwnSteps) {
  Estimator estimator = estimator_of(classifier);
  InputFn labelled = over_and_over({labelled_rows(8, 0)});
  LivePredictor predict = estimator.predictor();
  std::jthread predictor([&](const std::stop_token& stop) {
    while (!stop.stop_requested()) predict(labelled_rows(4, 2));
  });
  Training training = estimator.start(labelled, {.max_steps = 10});
  while (training.step()) {
    EvalResult found = estimator.evaluate(once({labelled_rows(5, 3), labelled_rows(8, 4)}));
    EXPECT_EQ(found.at("global_step"), static_cast<double>(training.result().global_step));
    EXPECT_EQ(estimator.variable_names().size(), 12u);  // 4, and of adam 2 each
    estimator.predictor()(labelled_rows(4, 2));
  }
  training.finish();
}

TEST_F(LivePrediction, DoesNotWaitForAPausedTraining) {
  Estimator estimator = estimator_of(twins);
  LivePredictor predict = estimator.predictor();
  Training training = estimator.start(input, {.max_steps = 5});
  training.control().pause();
  auto trained = std::async(std::launch::async, [&] {
    training.run();
    return training.finish();
  });
  while (!training.control().progress().paused) std::this_thread::yield();
  EXPECT_EQ(step_of(predict(one_point())), 0);
  training.control().resume();
  EXPECT_EQ(trained.get().steps, 5);
}

// A stream whose second batch comes after a prediction.
TEST_F(LivePrediction, DoesNotWaitForDataThatTrainingWaitsFor) {
  struct Stream final : InputStream {
    explicit Stream(std::shared_future<void> p) : predicted(std::move(p)) {}
    bool next(Features& batch) override {
      if (count++ == 1) predicted.wait();
      batch = one_point(1.0f / 64);
      return true;
    }
    std::shared_future<void> predicted;
    int count = 0;
  };
  Estimator estimator = estimator_of(twins);
  LivePredictor predict = estimator.predictor();
  std::promise<void> predicted;
  std::shared_future<void> future = predicted.get_future();
  TrainControl control;
  std::jthread predictor([&] {
    while (control.progress().step == 0) std::this_thread::yield();
    EXPECT_EQ(step_of(predict(one_point())), 1);
    predicted.set_value();
  });
  InputFn waiting = [future] { return std::make_unique<Stream>(future); };
  EXPECT_EQ(estimator.train(waiting, {.steps = 3, .control = &control}).steps, 3);
}

// A stream that is put where it stood after a prediction.
TEST_F(LivePrediction, DoesNotWaitForAPositionThatTrainingRestores) {
  struct Stream final : InputStream {
    explicit Stream(std::function<void()> p) : predict(std::move(p)) {}
    bool next(Features& batch) override {
      batch = one_point(1.0f / 64);
      return true;
    }
    std::string save() const override { return "here"; }
    void restore(const std::string&) override { std::async(std::launch::async, predict).get(); }
    std::function<void()> predict;
  };
  Estimator estimator = estimator_of(twins);
  LivePredictor predict = estimator.predictor();
  std::vector<double> steps;
  InputFn waiting = [&] {
    return std::make_unique<Stream>([&] { steps.push_back(step_of(predict(one_point()))); });
  };
  estimator.train(waiting, {.steps = 2});
  estimator.train(waiting, {.steps = 1});
  EXPECT_THAT(steps, ::testing::ElementsAre(2));
}

struct Average final : Hook {
  void after_apply(GradientStage& stage) override {
    std::vector<Variable> all;
    for (const VariableGradient& g : stage.gradients) all.push_back(g.variable);
    add_moving_averages(all, {.decay = 0.5});
  }
};

TEST_F(LivePrediction, AveragesAreThereOnceTheyHaveBegun) {
  Estimator estimator = estimator_of(twins);
  LivePredictor predict = estimator.predictor({.keys = {"w"}, .averaged = true});
  EXPECT_THAT(error_of([&] { predict(one_point()); }), HasSubstr("no moving averages"));
  estimator.train(input, {.steps = 2, .hooks = {std::make_shared<Average>()}});
  // It begins with the value after step 1; then half of that and half of that after step 2.
  EXPECT_EQ(predict(one_point()).at("w").at(0), 8 - 1.5 / 256);
  EXPECT_FALSE(predict(one_point()).contains("apart"));
  estimator.train(input, {.steps = 1, .hooks = {std::make_shared<Average>()}});
  EXPECT_EQ(predict(one_point()).at("w").at(0), 8 - 2.25 / 256);
}

// An update each for w and v: that of v comes from step 3 on, and its average with it.
EstimatorSpec in_turn(Scope s, const Batch& batch, Mode mode) {
  Variable w = s.variable("w", {.initializer = constant_value(8)});
  Variable v = s.variable("v", {.initializer = constant_value(8)});
  if (mode == Mode::predict) return {.predictions = {{"w", w.value()}, {"v", v.value()}}};
  Tensor x = mean(batch["x"]), of_w = w.value() * x, of_v = v.value() * x;
  return {.loss = of_w + of_v,
          .train = {minimize(of_w, sgd({.learning_rate = 1}), {w}),
                    minimize(of_v, sgd({.learning_rate = 1}), {v})}};
}

// Until it has one, a variable is read itself; also by a predictor that was used before.
TEST_F(LivePrediction, AnAverageStandsInOnceItWasUpdated) {
  struct Predicts final : Hook {
    explicit Predicts(LivePredictor p) : predict(std::move(p)) {}
    void before_step(StepRequest& request) override {
      if (request.step < 2) request.chosen = {0};
    }
    void after_step(const StepResult&) override {
      Features found = predict(one_point());
      seen.emplace_back(found.at("w").item(), found.at("v").item());
    }
    LivePredictor predict;
    std::vector<std::pair<double, double>> seen;
  };
  Estimator estimator = estimator_of(in_turn);
  auto hook = std::make_shared<Predicts>(estimator.predictor({.averaged = true}));
  estimator.train(over_and_over({one_point()}),
                  {.steps = 4, .hooks = {std::make_shared<Average>(), hook}});
  // w is 7, 6, 5, 4 and v 8, 8, 7, 6. Averages begin with the first and go half way to each later.
  using Pair = std::pair<double, double>;
  EXPECT_THAT(hook->seen,
              ::testing::ElementsAre(Pair{7, 8}, Pair{6.5, 8}, Pair{5.75, 7}, Pair{4.875, 6.5}));
}

TEST_F(LivePrediction, SaysWhatIsWrong) {
  Estimator estimator = estimator_of(twins);
  EXPECT_THAT(error_of([&] { estimator.predictor({.checkpoint = "here"}); }),
              HasSubstr("with the live variables, and not `here`"));
  EXPECT_THAT(error_of([&] { estimator.predictor({.keys = {"u"}})(one_point()); }),
              HasSubstr("there is no prediction `u`; the model has w, apart, twice"));
  // After a failure within a step nobody knows what the variables are.
  struct Thrower final : Hook {
    void after_step(const StepResult& step) override {
      if (step.step == 3) fail("broken");
    }
  };
  Estimator saving({.model_fn = twins, .model_dir = dir.path(), .run = saving_every(2)});
  LivePredictor predict = saving.predictor();
  EXPECT_THAT(error_of([&] { saving.train(input, {.hooks = {std::make_shared<Thrower>()}}); }),
              HasSubstr("broken"));
  EXPECT_THAT(error_of([&] { predict(one_point()); }), HasSubstr("ask the estimator for another"));
  EXPECT_EQ(step_of(saving.predictor()(one_point())), 2);
}

}  // namespace
}  // namespace belfry
