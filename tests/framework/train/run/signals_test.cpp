#include "belfry/framework/train/run/signals.h"

#include <atomic>
#include <thread>

#include "../training_testing.h"

namespace belfry {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

void (*handler_of(int signal))(int) {
  struct sigaction action;
  sigaction(signal, nullptr, &action);
  return action.sa_handler;
}

RunConfig listening() {
  RunConfig config = quiet();
  config.stop_on_signals = true;
  return config;
}

// Sends a signal to its own process after a step.
struct Raise final : Hook {
  Raise(int s, std::int64_t at) : signal(s), step(at) {}
  void after_step(const StepResult& r) override {
    if (r.step == step) std::raise(signal);
  }
  int signal;
  std::int64_t step;
};

TEST(Signals, SaveAndStop) {
  for (auto [signal, name] : {std::pair(SIGTERM, "SIGTERM"), std::pair(SIGINT, "SIGINT")}) {
    TemporaryFolder dir;
    auto before = handler_of(signal);
    Estimator estimator({.model_fn = falling, .model_dir = dir.path(), .run = listening()});
    TrainResult result = estimator.train(over_and_over({one_point()}),
                                         {.hooks = {std::make_shared<Raise>(signal, 3)}});
    EXPECT_EQ(result.outcome, Outcome::stopped);
    EXPECT_EQ(result.reason, name);
    EXPECT_EQ(result.global_step, 3);
    EXPECT_THAT(saved_steps(dir.path()), ElementsAre(0, 3));
    EXPECT_EQ(handler_of(signal), before);
  }
}

// Raises one in step 3, and waits until it is answered.
struct RaiseAndWait final : Hook {
  explicit RaiseAndWait(std::atomic<bool>& a) : answered(a) {}
  void after_step(const StepResult& r) override {
    if (r.step != 3) return;
    std::raise(SIGINT);
    while (!answered) std::this_thread::yield();
  }
  std::atomic<bool>& answered;
};

TEST(Signals, AreAnsweredAtOnceAndAtTheEnd) {
  TemporaryFolder dir;
  std::atomic<bool> answered = false;
  std::vector<std::string> lines;
  LogSink before = set_log_sink([&](LogLevel, std::string_view line) {
    lines.emplace_back(line);
    answered = answered || line.starts_with("SIGINT");
  });
  Estimator estimator({.model_fn = falling, .model_dir = dir.path(), .run = listening()});
  TrainResult result = estimator.train(over_and_over({one_point()}),
                                       {.hooks = {std::make_shared<RaiseAndWait>(answered)}});
  set_log_sink(before);
  EXPECT_EQ(result.signal, SIGINT);
  EXPECT_THAT(lines, Contains("SIGINT: stopping behind the running step; 3 are done; once more "
                              "ends the program at once, "
                              "without saving"));
  EXPECT_EQ(
      lines.back(),
      "training stopped at step 3: SIGINT; it goes on from there with model_dir " + dir.path());
}

TEST(Signals, ThrowOnceAllIsSavedWhereAskedTo) {
  for (auto [signal, status] : {std::pair(SIGTERM, 143), std::pair(SIGINT, 130)}) {
    TemporaryFolder dir;
    RunConfig config = listening();
    config.throw_on_signals = true;
    Estimator estimator({.model_fn = falling, .model_dir = dir.path(), .run = config});
    try {
      estimator.train(over_and_over({one_point()}),
                      {.hooks = {std::make_shared<Raise>(signal, 3)}});
      FAIL() << "no exception";
    } catch (const Interrupted& interrupted) {
      EXPECT_EQ(interrupted.signal(), signal);
      EXPECT_EQ(interrupted.exit_status(), status);
    }
    EXPECT_THAT(saved_steps(dir.path()), ElementsAre(0, 3));
    EXPECT_EQ(estimator.train(over_and_over({one_point()}), {.steps = 1}).global_step, 4);
  }
}

// Sends a signal in front of the third batch.
InputFn raising() {
  struct Stream final : InputStream {
    bool next(Features& out) override {
      if (++count == 3) std::raise(SIGTERM);
      out = one_point();
      return true;
    }
    int count = 0;
  };
  return [] { return std::make_unique<Stream>(); };
}

TEST(Signals, EndAnEvaluationBetweenBatches) {
  TemporaryFolder dir;
  CapturedLog log;
  auto before = handler_of(SIGTERM);
  RunConfig config = listening();
  Estimator estimator({.model_fn = linear, .model_dir = dir.path(), .run = config});
  EvalResult result = estimator.evaluate(raising(), {.steps = 1'000'000'000});
  EXPECT_TRUE(result.stopped());
  EXPECT_EQ(result.at("error"), 1);
  EXPECT_EQ(handler_of(SIGTERM), before);
  EXPECT_THAT(log.info, HasSubstr("SIGTERM: stopping the evaluation; once more ends the program"));

  config.throw_on_signals = true;
  Estimator throwing({.model_fn = linear, .model_dir = dir.path(), .run = config});
  EXPECT_THROW(throwing.evaluate(raising(), {.steps = 1'000'000'000}), Interrupted);
}

// Too late to stop a step: all is saved, and the program is to end all the same.
TEST(Signals, ThatComeWhileTrainingEndsCountToo) {
  struct AtEnd final : Hook {
    void end(HookContext&, Outcome) override { std::raise(SIGTERM); }
  };
  TemporaryFolder dir;
  RunConfig config = listening();
  config.throw_on_signals = true;
  Estimator estimator({.model_fn = falling, .model_dir = dir.path(), .run = config});
  EXPECT_THROW(estimator.train(over_and_over({one_point()}),
                               {.steps = 2, .hooks = {std::make_shared<AtEnd>()}}),
               Interrupted);
  EXPECT_THAT(saved_steps(dir.path()), ElementsAre(0, 2));
}

// It is the outer training that stops.
TEST(Signals, AnEvaluationWithinATrainingOfAnotherIsNotCutShort) {
  struct Evaluates final : Hook {
    void after_step(const StepResult& r) override {
      if (r.step != 2) return;
      TemporaryFolder dir;
      RunConfig config = quiet();
      config.stop_on_signals = config.throw_on_signals = true;
      Estimator other({.model_fn = linear, .model_dir = dir.path(), .run = config});
      EvalResult result = other.evaluate(raising(), {.steps = 5});
      EXPECT_FALSE(result.stopped());
    }
  };
  TemporaryFolder dir;
  Estimator estimator({.model_fn = falling, .model_dir = dir.path(), .run = listening()});
  TrainResult result =
      estimator.train(over_and_over({one_point()}), {.hooks = {std::make_shared<Evaluates>()}});
  EXPECT_EQ(result.reason, "SIGTERM");
  EXPECT_THAT(saved_steps(dir.path()), ElementsAre(0, result.global_step));
}

TEST(Signals, HandlersAreRestoredAfterEveryEnd) {
  auto term = handler_of(SIGTERM), interrupt = handler_of(SIGINT);
  TemporaryFolder dir;
  Estimator estimator({.model_fn = falling, .model_dir = dir.path(), .run = listening()});
  estimator.train(over_and_over({one_point()}), {.steps = 1});
  EXPECT_EQ(handler_of(SIGTERM), term);
  auto failing = [](Scope, const Batch&, Mode) -> EstimatorSpec { fail("no model"); };
  Estimator broken({.model_fn = failing, .model_dir = dir / "b", .run = listening()});
  EXPECT_NE(error_of([&] { broken.train(over_and_over({one_point()})); }), "no error");
  EXPECT_EQ(handler_of(SIGTERM), term);
  EXPECT_EQ(handler_of(SIGINT), interrupt);
}

TEST(Signals, APausedTrainingHearsThem) {
  TemporaryFolder dir;
  Estimator estimator({.model_fn = falling, .model_dir = dir.path(), .run = listening()});
  TrainControl control;
  control.pause();
  std::thread sender([&] {
    while (!control.progress().paused) std::this_thread::yield();
    raise(SIGTERM);
  });
  TrainResult result = estimator.train(over_and_over({one_point()}), {.control = &control});
  sender.join();
  EXPECT_EQ(result.reason, "SIGTERM");
}

TEST(SignalGuard, NotesTheFirstAndStepsAside) {
  auto before = handler_of(SIGTERM);
  SignalGuard guard;
  EXPECT_EQ(guard.received(), nullptr);
  EXPECT_NE(handler_of(SIGTERM), before);
  std::raise(SIGTERM);
  EXPECT_STREQ(guard.received(), "SIGTERM");
  EXPECT_EQ(handler_of(SIGTERM), before);  // a second one takes its usual course
}

TEST(SignalGuard, LeavesAHandlerThatWasPlacedSince) {
  auto before = handler_of(SIGINT);
  auto other = +[](int) {};
  {
    SignalGuard guard;
    signal(SIGINT, other);
    std::raise(SIGTERM);
    EXPECT_STREQ(guard.received(), "SIGTERM");
    EXPECT_EQ(handler_of(SIGINT), other);
  }
  EXPECT_EQ(handler_of(SIGINT), other);
  signal(SIGINT, before);
}

// The first is waited for in vain: the input does not heed it.
void train_through_two_signals() {
  struct Deaf final : InputStream {
    bool next(Features&) override {
      for (kill(getpid(), SIGTERM);; kill(getpid(), SIGTERM))
        std::this_thread::sleep_for(std::chrono::milliseconds(50));
    }
  };
  TemporaryFolder dir;
  Estimator estimator({.model_fn = falling, .model_dir = dir.path(), .run = listening()});
  estimator.train([] { return std::make_unique<Deaf>(); });
}

TEST(SignalsDeathTest, ASecondOneEndsTheProcess) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(train_through_two_signals(), testing::KilledBySignal(SIGTERM), "");
}

TEST(SignalGuard, RequestsAStopAndTellsOnce) {
  std::atomic<int> told = 0;
  SignalGuard guard([&](const char* signal) { told += std::string_view(signal) == "SIGTERM"; });
  EXPECT_FALSE(guard.stop().stop_requested());
  std::raise(SIGTERM);
  while (!guard.stop().stop_requested() || told == 0) std::this_thread::yield();
  SignalGuard later;
  EXPECT_FALSE(later.stop().stop_requested());
  std::raise(SIGTERM);
  while (!later.stop().stop_requested()) std::this_thread::yield();
  EXPECT_EQ(told, 1);
}

TEST(SignalGuard, LosesWhatIsThrownByThoseWhoHear) {
  std::atomic<int> told = 0;
  SignalGuard throwing([](const char*) { throw std::bad_alloc(); });
  SignalGuard guard([&](const char*) { ++told; });
  std::raise(SIGTERM);
  while (!throwing.stop().stop_requested() || told == 0) std::this_thread::yield();
  EXPECT_EQ(told, 1);
}

TEST(SignalGuard, AllThatLiveHearOfOne) {
  auto before = handler_of(SIGINT);
  {
    auto first = std::make_unique<SignalGuard>();
    SignalGuard second;
    first.reset();
    EXPECT_NE(handler_of(SIGINT), before);
    first = std::make_unique<SignalGuard>();
    std::raise(SIGINT);
    EXPECT_STREQ(first->received(), "SIGINT");
    EXPECT_STREQ(second.received(), "SIGINT");
    EXPECT_EQ(handler_of(SIGINT), before);
    SignalGuard third;  // begins anew, beside those that are stopping
    EXPECT_EQ(third.received(), nullptr);
    std::raise(SIGTERM);
    EXPECT_STREQ(third.received(), "SIGTERM");
  }
  EXPECT_EQ(handler_of(SIGINT), before);
  SignalGuard later;
  EXPECT_EQ(later.received(), nullptr);
}

TEST(Signals, StopAllTrainingsOfAProcess) {
  TrainControl controls[2];
  TrainResult results[2];
  {
    std::vector<std::jthread> threads;
    for (int i : {0, 1})
      threads.emplace_back([&, i] {
        TemporaryFolder dir;
        Estimator estimator({.model_fn = falling, .model_dir = dir.path(), .run = listening()});
        results[i] = estimator.train(over_and_over({one_point()}), {.control = &controls[i]});
      });
    for (const TrainControl& control : controls)
      while (control.progress().step == 0) std::this_thread::yield();
    kill(getpid(), SIGTERM);
  }
  for (const TrainResult& result : results) EXPECT_EQ(result.reason, "SIGTERM");
}

// A signal that comes while handlers are put in place may leave the guard's own behind.
TEST(SignalGuard, IsNeverWhatWasThereBefore) {
  struct sigaction before, own;
  sigaction(SIGTERM, nullptr, &before);
  {
    SignalGuard guard;
    sigaction(SIGTERM, nullptr, &own);
  }
  sigaction(SIGTERM, &own, nullptr);
  SignalGuard guard;
  std::raise(SIGTERM);
  EXPECT_STREQ(guard.received(), "SIGTERM");
  EXPECT_EQ(handler_of(SIGTERM), before.sa_handler);
  sigaction(SIGTERM, &before, nullptr);
}

}  // namespace
}  // namespace belfry
