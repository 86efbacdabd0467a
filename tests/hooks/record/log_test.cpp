#include "belfry/hooks/record/log.h"

#include <gmock/gmock.h>

#include "../../framework/base/error_of.h"
#include "../hooks_support.h"

namespace belfry::hooks {
namespace {

using testing::ElementsAre;

struct LogValuesTest : testing::Test {
  void step(Hook& hook) {
    context.finish_step(hook, {.context = context, .loss = 0.5, .values = values});
  }
  FakeContext context;
  CapturedLog log;
  std::vector<std::pair<std::string, double>> values{{"d_loss", 1.25}, {"g_loss", 1.0 / 3}};
};

TEST_F(LogValuesTest, LogsAllValuesAtTheFirstStepAndThenByCadence) {
  auto hook = log_values({.every = Steps(2)});
  hook->begin(context);
  for (int i = 0; i < 4; ++i) step(*hook);
  EXPECT_THAT(log.lines, ElementsAre("step 1: d_loss = 1.25, g_loss = 0.333333",
                                     "step 3: d_loss = 1.25, g_loss = 0.333333"));
}

TEST_F(LogValuesTest, LogsChosenValuesInTheOrderAskedFor) {
  auto hook = log_values({.names = {"loss", "d_loss"}});
  hook->begin(context);
  step(*hook);
  EXPECT_THAT(log.lines, ElementsAre("step 1: loss = 0.5, d_loss = 1.25"));
}

TEST_F(LogValuesTest, CadenceMayBeInSeconds) {
  double now = 100;
  auto hook = log_values(
      {.names = {"loss"}, .every = std::chrono::seconds(10), .clock = [&] { return now; }});
  hook->begin(context);
  for (double time : {100.0, 109.9, 110.0, 111.0, 120.0}) {
    now = time;
    step(*hook);
  }
  EXPECT_THAT(log.lines,
              ElementsAre("step 1: loss = 0.5", "step 3: loss = 0.5", "step 5: loss = 0.5"));
}

TEST_F(LogValuesTest, ASecondRunBeginsItsCadenceAnew) {
  auto hook = log_values({.names = {"loss"}, .every = Steps(10)});
  for (int run = 0; run < 2; ++run) {
    hook->begin(context);
    for (int i = 0; i < 3; ++i) step(*hook);
    hook->end(context, Outcome::finished);
  }
  EXPECT_THAT(log.lines, ElementsAre("step 1: loss = 0.5", "step 4: loss = 0.5"));
}

TEST_F(LogValuesTest, TheLastStepMayHaveALineToo) {
  auto hook = log_values({.names = {"loss"}, .every = Steps(2), .at_end = true});
  for (int steps : {4, 1}) {  // 1, 3 and the 4th; 5 has its own
    hook->begin(context);
    for (int i = 0; i < steps; ++i) step(*hook);
    hook->end(context, Outcome::stopped);
  }
  EXPECT_THAT(log.lines, ElementsAre("step 1: loss = 0.5", "step 3: loss = 0.5",
                                     "step 4: loss = 0.5", "step 5: loss = 0.5"));
}

TEST_F(LogValuesTest, LinesMayBeTheUsers) {
  auto hook = log_values({.format = [](std::int64_t step, auto values) {
    return concat(step, " ", values.size(), " ", values[1].first);
  }});
  hook->begin(context);
  step(*hook);
  EXPECT_THAT(log.lines, ElementsAre("1 2 g_loss"));
}

TEST_F(LogValuesTest, ACadenceMayBeBelowASecond) {
  double now = 0;
  auto hook = log_values(
      {.names = {"loss"}, .every = std::chrono::milliseconds(250), .clock = [&] { return now; }});
  hook->begin(context);
  for (double time : {0.0, 0.125, 0.25, 0.375, 0.5}) {
    now = time;
    step(*hook);
  }
  EXPECT_THAT(log.lines,
              ElementsAre("step 1: loss = 0.5", "step 3: loss = 0.5", "step 5: loss = 0.5"));
}

TEST_F(LogValuesTest, AnUnknownNameIsAnErrorThatListsTheKnownOnes) {
  auto hook = log_values({.names = {"d_los"}});
  hook->begin(context);
  EXPECT_EQ(error_of([&] { step(*hook); }),
            "there is no value `d_los`; the model has loss, d_loss, g_loss; add it to "
            "EstimatorSpec::values");
}

TEST_F(LogValuesTest, CadenceMustBeAboveZero) {
  EXPECT_EQ(error_of([] { log_values({.every = Steps(0)}); }),
            "log_values: every must be above 0, got 0 steps");
  EXPECT_EQ(error_of([] { log_values({.every = std::chrono::seconds(-3)}); }),
            "log_values: every must be above 0, got -3 s");
  EXPECT_EQ(error_of([] { log_values({.every = std::chrono::milliseconds(-1500)}); }),
            "log_values: every must be above 0, got -1500 ms");
}

using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

struct WithInput : FakeContext {
  std::vector<InputStage> input_stages() const override { return stages; }
  std::vector<InputStage> stages{{.name = "batch", .elements = 7}};
};

struct LogInputTest : testing::Test {
  void steps(Hook& hook, int count) {
    hook.begin(context);
    for (int i = 0; i < count; ++i) context.finish_step(hook, {.context = context});
  }
  WithInput context;
  CapturedLog log;
};

TEST_F(LogInputTest, LogsByCadenceAndAtTheEnd) {
  auto hook = log_input({.every = Steps(3)});
  steps(*hook, 7);
  ASSERT_THAT(log.lines, SizeIs(2));
  EXPECT_THAT(log.lines[0], HasSubstr("input after step 3:\nstage"));
  EXPECT_THAT(log.lines[0], HasSubstr("batch          7"));
  EXPECT_THAT(log.lines[1], HasSubstr("input after step 6:"));
  hook->end(context, Outcome::finished);
  EXPECT_THAT(log.lines, SizeIs(3));
}

TEST_F(LogInputTest, HasNothingToSayOfOtherStreams) {
  context.stages.clear();
  auto hook = log_input({.every = Steps(1)});
  steps(*hook, 3);
  hook->end(context, Outcome::finished);
  EXPECT_THAT(log.lines, IsEmpty());
}

TEST_F(LogInputTest, RefusesACadenceBelowOne) {
  EXPECT_THROW(log_input({.every = Steps(0)}), Error);
}

}  // namespace

}  // namespace belfry::hooks
