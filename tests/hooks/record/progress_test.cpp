#include "belfry/hooks/record/progress.h"

#include <gmock/gmock.h>

#include <semaphore>
#include <thread>

#include "../hooks_support.h"
#include "belfry/framework/train/activity.h"

namespace belfry::hooks {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

struct ProgressTest : testing::Test {
  std::shared_ptr<Hook> on_terminal(int columns) {
    return progress({.terminal = {.columns = columns,
                                  .write = [this](std::string_view s) { drawn.emplace_back(s); }},
                     .clock = [this] { return now; }});
  }
  std::shared_ptr<Hook> on_file(std::int64_t every) {
    return progress({.every = Steps(every),
                     .terminal = {.write = [this](std::string_view s) { drawn.emplace_back(s); }},
                     .clock = [this] { return now; }});
  }
  /// A step of 8 rows that ends `seconds` later, the last `waited` of them for input.
  void step(Hook& hook, double seconds, double waited = 0) {
    now += seconds;
    context.finish_step(hook, {.context = context,
                               .loss = 0.25,
                               .rows = 8,
                               .step_seconds = seconds - waited,
                               .input_wait_seconds = waited});
  }
  FakeContext context;
  CapturedLog log;
  double now = 1000;
  std::vector<std::string> drawn;
};

TEST_F(ProgressTest, DrawsBarCountTimesSpeedsLossAndWaiting) {
  context.limit = 4;
  auto hook = on_terminal(100);
  hook->begin(context);
  step(*hook, 61, 15.25);
  // 99 columns: 5 for the percentage, 68 for count and numbers, 2 for the bar's end, 24 for it.
  EXPECT_THAT(
      drawn,
      ElementsAre("\r  0%|                                        | 0/4 [00:00<?]\x1b[K",
                  "\r 25%|######                  | 1/4 [01:01<03:03, 61 s/step, 0.131 examples/s, "
                  "loss 0.25, input 25%]\x1b[K"));
}

TEST_F(ProgressTest, DrawsAtMostTenTimesASecondAndOnceMoreAtTheEnd) {
  context.limit = 100;
  auto hook = on_terminal(80);
  hook->begin(context);
  for (int i = 0; i < 100; ++i) step(*hook, 0.015625);  // 1/64 s: every seventh draws
  EXPECT_EQ(drawn.size(), 1u + 14u);
  hook->end(context, Outcome::finished);
  ASSERT_EQ(drawn.size(), 1u + 14u + 2u);
  EXPECT_EQ(drawn[15].substr(0, 6), "\r100%|");
  EXPECT_EQ(drawn[16], "\n");
}

TEST_F(ProgressTest, WithoutALimitThereIsNoBar) {
  auto hook = on_terminal(100);
  hook->begin(context);
  step(*hook, 0.5);
  EXPECT_EQ(drawn.back(), "\r1 steps [00:00, 2 steps/s, 16 examples/s, loss 0.25, input 0%]\x1b[K");
}

TEST_F(ProgressTest, ANarrowTerminalLosesTheBarThenNumbersAndNeverWraps) {
  context.limit = 10;
  auto line_at = [&](int columns) {
    context.finished = 0;
    auto hook = on_terminal(columns);
    hook->begin(context);
    step(*hook, 2);
    return drawn.back();
  };
  // 79 columns: 5 for the percentage, 63 for count and numbers, 2 for the bar's end, 9 for it.
  EXPECT_EQ(line_at(80),
            "\r 10%|         | 1/10 [00:02<00:18, 2 s/step, 4 examples/s, loss 0.25, input 0%]"
            "\x1b[K");
  EXPECT_EQ(line_at(60), "\r 10%| 1/10 [00:02<00:18, 2 s/step, 4 examples/s, loss 0.25]\x1b[K");
  EXPECT_EQ(line_at(50), "\r 10%| 1/10 [00:02<00:18, 2 s/step, loss 0.25]\x1b[K");
  EXPECT_EQ(line_at(40), "\r 10%| 1/10 [00:02<00:18, loss 0.25]\x1b[K");
  EXPECT_EQ(line_at(30), "\r 10%| 1/10 [00:02<00:18]\x1b[K");
  EXPECT_EQ(line_at(12), "\r 10%| 1/10 \x1b[K");
}

TEST_F(ProgressTest, AWindowThatIsMadeNarrowerIsNoticed) {
  context.limit = 10;
  int columns = 80;
  auto hook = progress({.terminal = {.columns = 80,
                                     .write = [this](std::string_view s) { drawn.emplace_back(s); },
                                     .present_columns = [&] { return columns; }},
                        .clock = [this] { return now; }});
  hook->begin(context);
  EXPECT_EQ(drawn.back().size(), 1u + 61u + 3u);  // "  0%|", 40 cells, "| 0/10 [00:00<?]"
  columns = 30;
  step(*hook, 2);
  EXPECT_EQ(drawn.back(), "\r 10%| 1/10 [00:02<00:18]\x1b[K");
  columns = 0;
  step(*hook, 2);
  EXPECT_THAT(drawn.back(), testing::HasSubstr("input 0%]"));
}

TEST_F(ProgressTest, HoursAreShownWhenThereAreSome) {
  context.limit = 3;
  auto hook = on_terminal(100);
  hook->begin(context);
  step(*hook, 3725);
  EXPECT_THAT(drawn.back(), testing::HasSubstr("[1:02:05<2:04:10,"));
}

// After a second at 1 step/s come two at 4 steps/s; old sums fade with exp(-seconds / 3):
// steps = e^(-2/3) + 8, seconds = e^(-2/3) + 2, so 8.5134 / 2.5134 = 3.39 (the plain mean is 3.0).
TEST_F(ProgressTest, SpeedsFollowTheLastSeconds) {
  auto hook = on_terminal(100);
  hook->begin(context);
  step(*hook, 1);
  for (int i = 0; i < 7; ++i) context.finish_step(*hook, {.context = context, .rows = 8});
  step(*hook, 2);
  EXPECT_THAT(drawn.back(), testing::HasSubstr("9 steps [00:03, 3.39 steps/s, 27.1 examples/s,"));
}

TEST_F(ProgressTest, LogLinesGoAboveTheLine) {
  auto hook = on_terminal(60);
  hook->begin(context);
  drawn.clear();
  log_info("saved it");
  EXPECT_THAT(log.lines, ElementsAre("saved it"));
  EXPECT_THAT(drawn, ElementsAre("\r\x1b[K", "0 steps [00:00]"));
  hook->end(context, Outcome::failed);
  drawn.clear();
  log_info("after the end");
  EXPECT_THAT(log.lines, ElementsAre("saved it", "after the end"));
  EXPECT_THAT(drawn, IsEmpty());
}

TEST_F(ProgressTest, WithoutATerminalItLogs) {
  context.limit = 5;
  auto hook = on_file(2);
  hook->begin(context);
  for (int i = 0; i < 5; ++i) step(*hook, 0.5, 0.125);
  hook->end(context, Outcome::finished);
  EXPECT_THAT(drawn, IsEmpty());
  EXPECT_THAT(
      log.lines,
      ElementsAre("step 2/5 [00:01<00:01, 2 steps/s, 16 examples/s, loss 0.25, input 25%]",
                  "step 4/5 [00:02<00:00, 2 steps/s, 16 examples/s, loss 0.25, input 25%]"));
}

// One of two seconds is an evaluation's: it took part of the time, and does not make steps slower.
TEST_F(ProgressTest, PausesAreNoTimeOfSteps) {
  context.limit = 4;
  auto hook = on_file(2);
  hook->begin(context);
  step(*hook, 0.5);
  context.add_pause(1);
  step(*hook, 1.5);
  EXPECT_THAT(log.lines,
              ElementsAre("step 2/4 [00:02<00:01, 2 steps/s, 16 examples/s, loss 0.25, input 0%]"));
}

// One within the other counts once.
TEST_F(ProgressTest, APauseWithinAPauseIsPartOfIt) {
  double began = monotonic_seconds();
  {
    TrainingPause outer(context);
    TrainingPause inner(context);
    while (monotonic_seconds() - began < 0.01) {
    }
  }
  EXPECT_GT(context.paused_seconds(), 0);
  EXPECT_LE(context.paused_seconds(), monotonic_seconds() - began);
}

// The 100 s that hooks took behind the last step make no speed.
TEST_F(ProgressTest, ASlowEndChangesNoSpeed) {
  context.limit = 4;
  auto hook = on_terminal(100);
  hook->begin(context);
  step(*hook, 0.5);
  now += 100;
  hook->end(context, Outcome::stopped);
  ASSERT_GE(drawn.size(), 2u);
  EXPECT_THAT(drawn[drawn.size() - 2], testing::HasSubstr("1/4 [01:40<00:01, 2 steps/s, "));
}

// A second at 1 step/s, then one at 3: (e^(-1/30) + 3) / (e^(-1/30) + 1) = 2.0168, so that 96 steps
// take 47.6 s; the speed of the last seconds, (e^(-1/3) + 3) / (e^(-1/3) + 1) = 2.165, would
// say 44.
TEST_F(ProgressTest, TheTimeLeftIsThatOfTheLastHalfMinute) {
  context.limit = 100;
  auto hook = on_terminal(100);
  hook->begin(context);
  step(*hook, 1);
  for (int i = 0; i < 2; ++i) context.finish_step(*hook, {.context = context, .rows = 8});
  step(*hook, 1);
  EXPECT_THAT(drawn.back(), testing::HasSubstr("4/100 [00:02<00:47, 2.17 steps/s"));
}

TEST_F(ProgressTest, TimesBeyondCountingAreUnknown) {
  context.limit = 1'000'000'000'000'000;
  auto hook = on_terminal(100);
  hook->begin(context);
  step(*hook, 3600);
  EXPECT_THAT(drawn.back(), testing::HasSubstr("[1:00:00<?, 3600 s/step"));
}

// Means of 4 and 2 with weights 0.98 and 1: 5.92 / 1.98.
TEST_F(ProgressTest, TheLossAndTheModelsValuesAreMeansThatFade) {
  auto hook = on_terminal(100);
  hook->begin(context);
  std::vector<std::pair<std::string, double>> values{{"accuracy", 0.5}};
  for (double loss : {4.0, 2.0}) {
    now += 0.5;
    context.finish_step(*hook, {.context = context, .loss = loss, .rows = 8, .values = values});
  }
  EXPECT_THAT(drawn.back(), testing::HasSubstr(", loss 2.99, accuracy 0.5, input 0%]"));
  context.finish_step(*hook,
                      {.context = context, .loss = std::nan(""), .rows = 8, .values = values});
  hook->end(context, Outcome::failed);
  EXPECT_THAT(drawn[drawn.size() - 2], testing::HasSubstr(", loss nan, accuracy 0.5, "));
}

// At 110 columns ten cells of the bar are kept, so that what reduces and applies has no room.
TEST_F(ProgressTest, AWideTerminalKeepsTheBar) {
  context.limit = 4;
  auto hook = on_terminal(110);
  hook->begin(context);
  StepTimes times{
      .compute = 0.4, .exposed_reduction = 0.02, .hidden_reduction = 0.1, .apply = 0.05};
  now += 0.5;
  context.finish_step(*hook, {.context = context, .loss = 0.25, .rows = 8, .times = times});
  EXPECT_EQ(drawn.back(),
            "\r 25%|######                   | 1/4 [00:00<00:01, 2 steps/s, 16 examples/s, loss "
            "0.25, input 0%, "
            "compute 80%]\x1b[K");
}

TEST_F(ProgressTest, AnEvaluationTakesItsPlaceAndGivesItBack) {
  context.limit = 4;
  auto hook = on_terminal(60);
  hook->begin(context);
  drawn.clear();
  {
    ActivityScope evaluation({.what = "evaluating", .total = 40});
    now += 0.05;
    evaluation.done(1);  // too early to be drawn
    now += 2.95;
    evaluation.done(10);
    now += 3;
    evaluation.done(20);
  }
  hook->end(context, Outcome::finished);
  EXPECT_THAT(drawn,
              ElementsAre("\revaluating\x1b[K", "\revaluating: 10/40 batches [00:03<00:09]\x1b[K",
                          "\revaluating: 20/40 batches [00:06<00:06]\x1b[K",
                          testing::StartsWith("\r  0%|"), testing::StartsWith("\r  0%|"), "\n"));
  drawn.clear();
  ActivityScope nobody_hears({.what = "evaluating"});
  EXPECT_THAT(drawn, IsEmpty());
}

// As a training whose steps run in a pool's thread, and which its host ends.
TEST_F(ProgressTest, AThreadThatItBeganInDrawsNothingMoreWhenItHasEnded) {
  auto hook = on_terminal(60);
  std::binary_semaphore begun(0), ended(0);
  std::thread pool([&] {
    hook->begin(context);
    begun.release();
    ended.acquire();
    ActivityScope evaluation({.what = "evaluating"});
  });
  begun.acquire();
  hook->end(context, Outcome::finished);
  hook.reset();
  drawn.clear();
  ended.release();
  pool.join();
  EXPECT_THAT(drawn, IsEmpty());
}

TEST_F(ProgressTest, ARunThatGoesOnCountsItsOwnSpeed) {
  context.finished = 50;
  context.limit = 54;
  auto hook = on_file(2);
  hook->begin(context);
  for (int i = 0; i < 2; ++i) step(*hook, 1);
  EXPECT_THAT(
      log.lines,
      ElementsAre("step 52/54 [00:02<00:02, 1 steps/s, 8 examples/s, loss 0.25, input 0%]"));
}

// Shares of half a second: 25, 400, 20, 45 and 50 ms; the 4 ms of copying are below 1%.
TEST_F(ProgressTest, ShowsWhereTheTimeGoes) {
  auto hook = on_file(2);
  hook->begin(context);
  StepTimes times{.copy = 0.004,
                  .compute = 0.4,
                  .exposed_reduction = 0.02,
                  .hidden_reduction = 0.045,
                  .apply = 0.05};
  for (int i = 0; i < 2; ++i) {
    now += 0.5;
    context.finish_step(
        *hook,
        {.context = context, .loss = 0.25, .rows = 8, .input_wait_seconds = 0.025, .times = times});
  }
  EXPECT_THAT(log.lines, ElementsAre("step 2 [00:01, 2 steps/s, 16 examples/s, loss 0.25, "
                                     "input 5%, compute 80%, reduce 4% (+9% hidden), apply 10%]"));
}

// A second with 0.8 s of computing, then two with 0.5 s in all: (0.8 e^(-2/3) + 0.5) /
// (e^(-2/3) + 2) = 0.9107 / 2.5134 = 36%; apply 0.1 e^(-2/3) / 2.5134 = 2%.
TEST_F(ProgressTest, SharesFollowTheLastSeconds) {
  auto hook = on_terminal(120);
  hook->begin(context);
  now += 1;
  context.finish_step(*hook, {.context = context, .times = {.compute = 0.8, .apply = 0.1}});
  now += 2;
  context.finish_step(*hook, {.context = context, .times = {.compute = 0.5}});
  EXPECT_THAT(drawn.back(), testing::HasSubstr("input 0%, compute 36%, apply 2%]"));
}

TEST_F(ProgressTest, OnlyTheChiefShowsIt) {
  context.chief = false;
  for (const auto& hook : {on_terminal(100), on_file(1)}) {
    hook->begin(context);
    step(*hook, 1);
    hook->end(context, Outcome::finished);
  }
  EXPECT_THAT(drawn, IsEmpty());
  EXPECT_THAT(log.lines, IsEmpty());
}

TEST_F(ProgressTest, EveryMustBeAboveZero) {
  try {
    on_file(0);
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(), "progress: every must be at least 1 step, got 0");
  }
}

}  // namespace
}  // namespace belfry::hooks
