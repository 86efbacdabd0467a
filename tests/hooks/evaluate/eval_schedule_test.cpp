#include "belfry/hooks/evaluate/eval_schedule.h"

#include <gmock/gmock.h>

#include <limits>

#include "../../framework/base/error_of.h"
#include "../hooks_support.h"

namespace belfry::hooks {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using namespace std::chrono_literals;

struct TimedContext final : FakeContext {
  double clock() const override { return now; }
  double now = 1000;
};

/// The steps at which a spec is evaluated when each takes so many seconds, and an evaluation
/// `evaluation_seconds`.
std::vector<std::int64_t> steps_of(const EvalSpec& spec, std::int64_t steps, double step_seconds,
                                   double evaluation_seconds = 0) {
  TimedContext context;
  EvalSchedule schedule("evaluation", spec);
  schedule.begin(context);
  std::vector<std::int64_t> evaluated;
  for (std::int64_t step = 1; step <= steps; ++step) {
    context.now += step_seconds;
    bool may_be = schedule.may_be_due(context, step);
    StepResult result{.context = context, .step = step, .rows = 1};
    if (!schedule.due(context, result, may_be)) continue;
    evaluated.push_back(step);
    schedule.evaluated(context);
    context.now += evaluation_seconds;
  }
  return evaluated;
}

TEST(EvalSchedule, CountsSecondsFromTheLastEvaluation) {
  EXPECT_THAT(steps_of({.every = 10s}, 12, 2.5), ElementsAre(4, 8, 12));
  EXPECT_THAT(steps_of({.every = 10s}, 12, 4), ElementsAre(3, 6, 9, 12));
  EXPECT_THAT(steps_of({.every = 10s}, 12, 2.5, 5), ElementsAre(4, 6, 8, 10, 12));
}

TEST(EvalSchedule, ThrottlesAndDelays) {
  // Due at 2, 4, 6, ..., which are 6 s apart.
  EXPECT_THAT(steps_of({.every = Steps(2)}, 12, 3), ElementsAre(2, 4, 6, 8, 10, 12));
  EXPECT_THAT(steps_of({.every = Steps(2), .throttle = 6s}, 12, 3),
              ElementsAre(2, 4, 6, 8, 10, 12));
  EXPECT_THAT(steps_of({.every = Steps(2), .throttle = 7s}, 12, 3), ElementsAre(2, 6, 10));
  EXPECT_THAT(steps_of({.every = Steps(2), .throttle = 6001ms}, 12, 3), ElementsAre(2, 6, 10));
  EXPECT_THAT(steps_of({.every = Steps(2), .start_delay = 19s}, 12, 3), ElementsAre(8, 10, 12));
  EXPECT_THAT(steps_of({.every = Steps(2), .throttle = 7s, .start_delay = 18s}, 12, 3),
              ElementsAre(6, 10));
}

TEST(EvalSchedule, AnEpochThatIsThrottledIsLeftOut) {
  EXPECT_THAT(steps_of({.every = Epochs{.count = 2, .examples = 3}}, 20, 1),
              ElementsAre(6, 12, 18));
  EXPECT_THAT(steps_of({.every = Epochs{.examples = 3}, .throttle = 4s}, 20, 1),
              ElementsAre(3, 9, 15));
}

TEST(EvalSchedule, OnlyStepsThatMayBeDueAskForTheirResult) {
  TimedContext context;
  EvalSchedule epochs("evaluation", {.every = Epochs{.examples = 10}});
  epochs.begin(context);
  std::vector<std::int64_t> asked, evaluated;
  std::int64_t rows[] = {4, 4, 2, 4, 5, 4, 4};  // 10 after step 3, 19, 23 and 27 after 5, 6 and 7
  for (std::int64_t step = 1; step <= 7; ++step) {
    bool may_be = epochs.may_be_due(context, step);
    if (may_be) asked.push_back(step);
    if (epochs.due(context, {.context = context, .step = step, .rows = rows[step - 1]}, may_be))
      evaluated.push_back(step);
  }
  EXPECT_THAT(asked, ElementsAre(1, 3, 6));  // of the first batch nothing is known
  EXPECT_THAT(evaluated, ElementsAre(3, 6));
}

TEST(EvalSchedule, ALargerBatchThanAnyBeforeEndsAnEpochOneStepLate) {
  TimedContext context;
  EvalSchedule epochs("evaluation", {.every = Epochs{.examples = 10}});
  epochs.begin(context);
  std::vector<std::int64_t> evaluated;
  std::int64_t rows[] = {2, 2, 9, 1, 1};
  for (std::int64_t step = 1; step <= 5; ++step) {
    bool may_be = epochs.may_be_due(context, step);
    if (epochs.due(context, {.context = context, .step = step, .rows = rows[step - 1]}, may_be))
      evaluated.push_back(step);
  }
  EXPECT_THAT(evaluated, ElementsAre(4));
}

TEST(EvalSchedule, EpochsOfMoreExamplesThanThereAreNumbersAreRefused) {
  constexpr std::int64_t most = std::numeric_limits<std::int64_t>::max();
  EXPECT_EQ(error_of([] {
              EvalSchedule("evaluation",
                           {.every = Epochs{.count = 1LL << 32, .examples = 1LL << 32}});
            }),
            "evaluation: every = 4294967296 epochs of 4294967296 examples are more than can be "
            "counted; set fewer epochs");
  EXPECT_THAT(steps_of({.every = Epochs{.count = most, .examples = 1}}, 5, 1), IsEmpty());
  TimedContext context;
  EvalSchedule late("evaluation", {.every = Epochs{.count = most, .examples = 1}});
  late.begin(context);
  late.set_examples(most - 3);
  late.due(context, {.context = context, .step = 1, .rows = 2}, false);
  EXPECT_TRUE(late.may_be_due(context, 2));
}

TEST(EvalSchedule, TheLastStepIsNeverLeftOut) {
  TimedContext context;
  context.limit = 3;
  EvalSchedule schedule("evaluation", {.every = Steps(2), .throttle = 1h});
  schedule.begin(context);
  EXPECT_FALSE(schedule.may_be_due(context, 1));
  EXPECT_TRUE(schedule.may_be_due(context, 3));
  schedule.evaluated(context);
  EXPECT_TRUE(schedule.due(context, {.context = context, .step = 3}, true));
  EXPECT_FALSE(schedule.due(context, {.context = context, .step = 2}, true));
}

}  // namespace
}  // namespace belfry::hooks
