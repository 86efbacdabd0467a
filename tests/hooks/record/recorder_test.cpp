// Schedules of whole trainings are in summaries_test.cpp.
#include "belfry/hooks/record/recorder.h"

#include <gmock/gmock.h>

#include <cmath>

#include "../hooks_support.h"

namespace belfry::hooks {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::Pair;

struct RecorderTest : testing::Test {
  /// A step of 8 rows that ends half a second later, after an eighth of waiting for input.
  std::optional<Record> step(Recorder& recorder, double loss) {
    now += 0.5;
    StepResult result{.context = context,
                      .step = ++context.finished,
                      .loss = loss,
                      .rows = 8,
                      .input_wait_seconds = 0.125,
                      .values = values,
                      .times = {.compute = 0.25}};
    recorder.needs_result_now(context, context.finished);
    return recorder.after_step(result);
  }
  Recorder make(Every every, bool more = false) {
    return Recorder(
        {.every = every, .clock = [this] { return now; }, .last_step = more, .not_finite = more});
  }

  FakeContext context;
  double now = 100;
  std::vector<std::pair<std::string, double>> values{{"loss", 7}, {"d_loss", 3}};
};

TEST_F(RecorderTest, MakesRecordsByCadence) {
  Recorder recorder = make(Steps(3));
  recorder.begin(context);
  auto first = step(recorder, 4);
  ASSERT_TRUE(first);
  EXPECT_EQ(first->step, 1);
  EXPECT_THAT(first->values, ElementsAre(Pair("loss", 4), Pair("d_loss", 3)));
  EXPECT_THAT(first->learning_rates, IsEmpty());
  EXPECT_FALSE(first->speed);
  EXPECT_FALSE(step(recorder, 5));
  EXPECT_FALSE(step(recorder, 5));
  auto second = step(recorder, 6);
  ASSERT_TRUE(second && second->speed);
  EXPECT_EQ(second->step, 4);
  EXPECT_EQ(second->speed->steps, 3);
  EXPECT_EQ(second->speed->seconds, 1.5);
  EXPECT_EQ(second->speed->steps_per_second(), 2);
  EXPECT_EQ(second->speed->examples_per_second(), 16);
  EXPECT_EQ(second->speed->waiting_fraction(), 0.25);
  EXPECT_EQ(recorder.total().steps, 4);
  EXPECT_EQ(recorder.total().input_wait_seconds, 0.5);
  EXPECT_EQ(recorder.total().times.compute, 1);
}

// Three seconds of evaluation in the second of four steps.
TEST_F(RecorderTest, SpeedIsWithoutPauses) {
  Recorder recorder = make(Steps(2));
  context.add_pause(7);  // an earlier one
  recorder.begin(context);
  step(recorder, 1);
  now += 3;
  context.add_pause(3);
  step(recorder, 1);
  auto record = step(recorder, 1);
  ASSERT_TRUE(record && record->speed);
  EXPECT_EQ(record->speed->seconds, 1);
  EXPECT_EQ(record->speed->steps_per_second(), 2);
}

TEST_F(RecorderTest, TheLastStepAndWhatIsNotFiniteWhereTheyAreAskedFor) {
  context.limit = 4;
  Recorder plain = make(Steps(100));
  plain.begin(context);
  std::vector<bool> recorded;
  for (double loss : {1., 2., std::nan(""), 4.}) recorded.push_back(step(plain, loss).has_value());
  EXPECT_THAT(recorded, ElementsAre(true, false, false, false));
  context.finished = 0;
  Recorder recorder = make(Steps(100), true);
  recorder.begin(context);
  EXPECT_TRUE(step(recorder, 1));
  EXPECT_FALSE(step(recorder, 2));
  auto lost = step(recorder, std::nan(""));
  ASSERT_TRUE(lost);
  EXPECT_FALSE(lost->speed);
  auto last = step(recorder, 4);
  ASSERT_TRUE(last && last->speed);
  EXPECT_EQ(last->speed->steps, 3);
}

TEST_F(RecorderTest, EachTrainingBeginsAnew) {
  Recorder recorder = make(Steps(100));
  for (int run = 0; run < 2; ++run) {
    recorder.begin(context);
    auto first = step(recorder, 1);
    ASSERT_TRUE(first);
    EXPECT_FALSE(first->speed);
    EXPECT_EQ(recorder.total().steps, 1);
    recorder.end();
    EXPECT_FALSE(step(recorder, 1));
  }
}

TEST_F(RecorderTest, OtherWorkersRecordNothing) {
  context.chief = false;
  Recorder recorder = make(Steps(1));
  recorder.begin(context);
  EXPECT_FALSE(step(recorder, 1));
  EXPECT_FALSE(recorder.needs_result_now(context, 2));
}

}  // namespace
}  // namespace belfry::hooks
