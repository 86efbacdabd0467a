// A stop from outside is heard wherever training is: each of the three kinds, in each of the places
// where it may wait for ever.

#include <signal.h>

#include <atomic>
#include <thread>

#include "../evaluation_testing.h"
#include "belfry/data/data.h"

namespace belfry {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

enum class Kind { signal, control, token };

// Batches of x = 1, 2, ... `count`, and then nothing until somebody stops it, which it says in
// `waits`; 0: all of them.
data::Generate counting(int count, std::atomic<bool>* waits = nullptr) {
  return [=, x = 0](std::stop_token stop) mutable -> std::optional<Features> {
    if (x == count && count > 0) {
      if (waits) *waits = true;
      wait_for(stop);
      return std::nullopt;
    }
    return points({static_cast<float>(++x)}, {1});
  };
}

class Stops : public EvaluationTest, public testing::WithParamInterface<Kind> {
 protected:
  // After `reads` batches of x = 1 somebody asks to stop; there are more all the same.
  InputFn endless_from(int reads) {
    return [this, reads] {
      struct Endless final : InputStream {
        bool next(Features& batch) override {
          if (++read == reads) stops->stop();
          batch = one_point();
          return true;
        }
        Stops* stops = nullptr;
        int reads = 0, read = 0;
      };
      auto stream = std::make_unique<Endless>();
      stream->stops = this;
      stream->reads = reads;
      return stream;
    };
  }
  // A stream that waits, once it is first read, until somebody asks to stop.
  InputFn waiting() {
    return [this](const InputContext& context) {
      struct Waits final : InputStream {
        bool next(Features&) override {
          reading = true;
          wait_for(stop);
          return false;
        }
        explicit Waits(std::atomic<bool>& r) : reading(r) {}
        std::atomic<bool>& reading;
        std::stop_token stop;
      };
      auto stream = std::make_unique<Waits>(reading);
      stream->stop = context.stop;
      return stream;
    };
  }

  void stop() {
    switch (GetParam()) {
      case Kind::signal:
        // To this thread: ThreadSanitizer can lose a signal to a thread that is about to wait.
        raise(SIGTERM);
        break;
      case Kind::control:
        control.request_stop("enough");
        break;
      case Kind::token:
        source.request_stop();
    }
  }
  std::string reason() const {
    constexpr const char* reasons[] = {"SIGTERM", "enough", "the stop token asked for it"};
    return reasons[static_cast<int>(GetParam())];
  }
  RunConfig listening() const {
    RunConfig config = quiet();
    config.stop_on_signals = GetParam() == Kind::signal;
    return config;
  }
  TrainOptions stoppable(Hooks hooks = {}) {
    return {.hooks = std::move(hooks), .control = &control, .stop = source.get_token()};
  }
  // Once training has run so many steps, and `reading` if that is asked for.
  std::thread stop_after(std::int64_t steps, bool reads = false) {
    return std::thread([this, steps, reads] {
      while (control.progress().step < steps || (reads && !reading)) std::this_thread::yield();
      // It comes to the next batch, for which it waits.
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
      stop();
    });
  }
  void expect_stopped(const TrainResult& result, std::int64_t step) const {
    EXPECT_EQ(result.outcome, Outcome::stopped);
    EXPECT_EQ(result.reason, reason());
    EXPECT_EQ(result.global_step, step);
    EXPECT_EQ(saved_steps(dir.path()).back(), step);
  }

  std::atomic<bool> reading = false;
  TrainControl control;
  std::stop_source source;
};
std::string name_of(const testing::TestParamInfo<Kind>& info) {
  constexpr const char* names[] = {"ASignal", "AControl", "AToken"};
  return names[static_cast<int>(info.param)];
}
INSTANTIATE_TEST_SUITE_P(Of, Stops, testing::Values(Kind::signal, Kind::control, Kind::token),
                         name_of);

// And training goes on afterwards with the batch that would have come next: w = 8 - (1 + 2 + 3)
// / 4.
TEST_P(Stops, AreHeardWhileTheInputWaits) {
  data::Transform none = [](Dataset d) { return d; };
  for (const data::Transform& last : {none, data::prefetch(2)}) {
    std::filesystem::remove_all(dir.path());
    TrainControl fresh;
    std::thread stopper([&] {
      while (fresh.progress().step < 3) std::this_thread::yield();
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
      GetParam() == Kind::control ? fresh.request_stop("enough") : stop();
    });
    source = {};
    Estimator estimator(options(listening()));
    TrainResult result = estimator.train(data::generator(counting(3)) | last,
                                         {.control = &fresh, .stop = source.get_token()});
    stopper.join();
    expect_stopped(result, 3);
    EXPECT_EQ(scalar(estimator, "w"), 6.5);
    estimator.train(data::generator(counting(0)) | last, {.steps = 1});
    EXPECT_EQ(scalar(estimator, "w"), 5.5);
    Estimator restarted(options());
    EXPECT_EQ(restarted.train(data::generator(counting(0)) | last, {.steps = 1}).global_step, 5);
    EXPECT_EQ(scalar(restarted, "w"), 4.25);
  }
}

TEST_P(Stops, AreHeardBeforeTheFirstBatch) {
  Estimator estimator(options(listening()));
  std::thread stopper = stop_after(0, true);
  TrainResult result = estimator.train(waiting(), stoppable());
  stopper.join();
  EXPECT_EQ(result.outcome, Outcome::stopped);
  EXPECT_EQ(result.steps, 0);
  EXPECT_THAT(log.warnings, IsEmpty());
}

TEST_P(Stops, AreHeardWhileTheInputOpens) {
  InputFn opens = [&](const InputContext& context) {
    reading = true;
    wait_for(context.stop);
    return once({})(context);
  };
  Estimator estimator(options(listening()));
  std::thread stopper = stop_after(0, true);
  TrainResult result = estimator.train(opens, stoppable());
  stopper.join();
  EXPECT_EQ(result.outcome, Outcome::stopped);
  EXPECT_EQ(result.reason, reason());
  EXPECT_EQ(result.steps, 0);
}

TEST_P(Stops, AreHeardInAnEvaluation) {
  bool first = true;  // it is tried out before the first step
  InputFn never_ends = [&, endless = endless_from(5)](const InputContext& c) {
    return std::exchange(first, false) ? test(c) : endless(c);
  };
  EvalSpec spec{.name = "t", .input_fn = never_ends, .every = Steps(2), .exporters = {seen}};
  Estimator estimator(options(listening()));
  auto result = train_and_evaluate(estimator, {input, stoppable()}, {spec});
  expect_stopped(result.train, 2);
  EXPECT_FALSE(result.evaluations.contains("t"));
  EXPECT_THAT(seen->steps, IsEmpty());
  EXPECT_THAT(seen->ends, IsEmpty());
}

TEST_P(Stops, AreHeardInAnEvaluationThatWaits) {
  bool first = true;
  InputFn waits = [&, wait = waiting()](const InputContext& c) {
    return std::exchange(first, false) ? test(c) : wait(c);
  };
  std::thread stopper = stop_after(2, true);
  Estimator estimator(options(listening()));
  EvalSpec spec{.name = "t", .input_fn = waits, .every = Steps(2)};
  auto result = train_and_evaluate(estimator, {input, stoppable()}, {spec});
  stopper.join();
  expect_stopped(result.train, 2);
  EXPECT_TRUE(result.evaluations.empty());
}

TEST_P(Stops, AreHeardInAnEvaluationThatReadsAhead) {
  bool first = true;
  InputFn ahead = [&, waits = data::generator(counting(3, &reading))
                              | data::prefetch(2)](const InputContext& c) {
    return std::exchange(first, false) ? test(c) : waits.open(c);
  };
  std::thread stopper = stop_after(2, true);
  Estimator estimator(options(listening()));
  EvalSpec spec{.name = "t", .input_fn = ahead, .every = Steps(2)};
  auto result = train_and_evaluate(estimator, {input, stoppable()}, {spec});
  stopper.join();
  expect_stopped(result.train, 2);
  EXPECT_TRUE(result.evaluations.empty());
}

// Before the first step, where nothing has to be saved but what training begins with.
TEST_P(Stops, AreHeardWhileEvaluationsAreTriedOut) {
  std::vector<std::string> nowhere, beside{"cpu:1"};
  for (const auto& devices : {nowhere, beside}) {
    std::filesystem::remove_all(dir.path());
    reading = false;
    TrainControl fresh;
    source = {};
    std::thread stopper([&] {
      while (!reading) std::this_thread::yield();
      GetParam() == Kind::control ? fresh.request_stop("enough") : stop();
    });
    Estimator estimator(options(listening()));
    EvalSpec spec{.name = "t", .input_fn = waiting(), .every = Steps(2), .devices = devices};
    auto result = train_and_evaluate(
        estimator, {input, {.control = &fresh, .stop = source.get_token()}}, {spec});
    stopper.join();
    EXPECT_EQ(result.train.outcome, Outcome::stopped);
    EXPECT_EQ(result.train.reason, reason());
    EXPECT_EQ(result.train.steps, 0);
    EXPECT_TRUE(result.evaluations.empty());
  }
}

// The position is not lost that an earlier training left: the next batch is x = 4, not 1.
TEST_P(Stops, AreHeardBeforeTheFirstBatchOfATrainingThatGoesOn) {
  Estimator estimator(options(listening()));
  estimator.train(data::generator(counting(0)), {.steps = 3});
  std::thread stopper = stop_after(3);
  TrainOptions with_limit = stoppable();
  with_limit.max_steps = 9;
  TrainResult result = estimator.train(data::generator(counting(3)), with_limit);
  stopper.join();
  EXPECT_EQ(result.outcome, Outcome::stopped);
  EXPECT_EQ(result.steps, 0);
  EXPECT_EQ(scalar(estimator, "w"), 6.5);
  estimator.train(data::generator(counting(0)), {.steps = 1});
  EXPECT_EQ(scalar(estimator, "w"), 5.5);
}

TEST_P(Stops, AreHeardInAnEvaluationBesideTraining) {
  std::atomic<int> opened = 0;
  InputFn never_ends = [&, wait = waiting()](const InputContext& c) {
    return opened++ == 0 ? test(c) : wait(c);
  };
  EvalSpec spec{.name = "t", .input_fn = never_ends, .every = Steps(2), .devices = {"cpu:1"}};
  std::thread stopper = stop_after(4, true);
  Estimator estimator(options(listening()));
  auto result = train_and_evaluate(estimator, {input, stoppable()}, {spec});
  stopper.join();
  expect_stopped(result.train, result.train.global_step);
  EXPECT_GE(result.train.global_step, 4);
  EXPECT_TRUE(result.evaluations.empty());
  EXPECT_EQ(opened, 2);  // none comes after it
}

// All steps are done, but not what comes after them.
TEST_P(Stops, AreHeardInTheLastEvaluation) {
  bool first = true;
  InputFn never_ends = [&, endless = endless_from(5)](const InputContext& c) {
    return std::exchange(first, false) ? test(c) : endless(c);
  };
  EvalSpec spec{.name = "t", .input_fn = never_ends, .every = Steps(10), .exporters = {seen}};
  TrainOptions to_the_end = stoppable();
  to_the_end.max_steps = 3;
  Estimator estimator(options(listening()));
  auto result = train_and_evaluate(estimator, {input, to_the_end}, {spec});
  expect_stopped(result.train, 3);
  EXPECT_TRUE(result.evaluations.empty());
  EXPECT_THAT(seen->ends, IsEmpty());
}

TEST_P(Stops, AreHeardWhereNothingIsLeftToDo) {
  train({}, 3);
  std::vector<std::string> nowhere, beside{"cpu:1"};
  for (const auto& devices : {nowhere, beside}) {
    reading = false;
    TrainControl fresh;
    source = {};
    std::thread stopper([&] {
      while (!reading) std::this_thread::yield();
      GetParam() == Kind::control ? fresh.request_stop("enough") : stop();
    });
    EvalSpec spec{.name = "t", .input_fn = waiting(), .exporters = {seen}, .devices = devices};
    EvalSpec next{.name = "next", .input_fn = test};
    Estimator estimator(options(listening()));
    auto result = train_and_evaluate(
        estimator, {input, {.max_steps = 3, .control = &fresh, .stop = source.get_token()}},
        {spec, next});
    stopper.join();
    expect_stopped(result.train, 3);
    EXPECT_TRUE(result.evaluations.empty());
    EXPECT_THAT(seen->ends, IsEmpty());
    // The stop is over.
    EXPECT_FALSE(estimator.evaluate(test).stopped());
  }
}

// Predicts after step 2.
struct Predicts final : Hook {
  void after_step(const StepResult& result) override {
    if (result.step != 2) return;
    Predictions all = estimator->predict(input);
    for (const Features& p : all) EXPECT_TRUE(p.contains("y"));
    stopped = all.stopped();
  }
  Estimator* estimator = nullptr;
  InputFn input;
  bool stopped = false;
};

TEST_P(Stops, AreHeardInAPrediction) {
  auto predicts = std::make_shared<Predicts>();
  Estimator estimator(options(listening()));
  predicts->estimator = &estimator;
  predicts->input = endless_from(5);
  expect_stopped(estimator.train(input, stoppable({predicts})), 2);
  EXPECT_TRUE(predicts->stopped);
}

TEST_P(Stops, AreHeardInAPredictionThatWaits) {
  auto predicts = std::make_shared<Predicts>();
  Estimator estimator(options(listening()));
  predicts->estimator = &estimator;
  predicts->input = waiting();
  std::thread stopper = stop_after(2, true);
  TrainResult result = estimator.train(input, stoppable({predicts}));
  stopper.join();
  expect_stopped(result, 2);
  EXPECT_TRUE(predicts->stopped);
}

// Between two steps a host evaluates; once training has heeded the stop, that is over.
TEST_P(Stops, AreHeardBetweenAHostsSteps) {
  Estimator estimator(options(listening()));
  Training training = estimator.start(input, stoppable());
  ASSERT_TRUE(training.step());
  EvalResult cut = estimator.evaluate(endless_from(5));
  EXPECT_TRUE(cut.stopped());
  EXPECT_EQ(cut.at("distance"), 0.75);
  EXPECT_FALSE(training.step());
  EvalResult whole = estimator.evaluate(test);
  EXPECT_FALSE(whole.stopped());
  EXPECT_EQ(whole.at("distance"), 0.75);
  expect_stopped(training.finish(), 1);
}

TEST_F(EvaluationTest, EndlessDataAreNotEvaluatedToTheirEnd) {
  Dataset endless =
      data::from_arrays({{"x", one_point().at("x")}}) | data::repeat() | data::batch(1);
  std::string told = "evaluate: the data never end; set `steps`, or leave out repeat()";
  Estimator estimator(options());
  EXPECT_EQ(error_of([&] { estimator.evaluate(endless); }), told);
  EXPECT_EQ(estimator.evaluate(endless, {.steps = 3}).at("distance"), 1);
  EvalSpec spec{.name = "t", .input_fn = endless, .every = Steps(2)};
  EXPECT_THAT(error_of([&] { train({spec}, 4); }),
              HasSubstr(told + " (in evaluation `t`, tried out first)"));
  EXPECT_THAT(saved_steps(dir.path()), IsEmpty());
  train({}, 4);  // there is nothing left to do
  EXPECT_THAT(error_of([&] { train({spec}, 4); }), HasSubstr(told));
}

}  // namespace
}  // namespace belfry
