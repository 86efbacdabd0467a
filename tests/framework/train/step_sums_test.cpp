#include <gmock/gmock.h>

#include "belfry/framework/train/hook.h"

namespace belfry {
namespace {

TEST(StepBreakdown, ShowsSharesOfTheTime) {
  StepTimes times{.copy = 0.06,
                  .compute = 3.2,
                  .transfer = 0.08,
                  .exposed_reduction = 0.12,
                  .hidden_reduction = 0.36,
                  .apply = 0.4};
  EXPECT_EQ(breakdown_text(0.2, times, 4),
            "input 5%, copy 2%, compute 80%, transfer 2%, reduce 3% (+9% hidden), apply 10%");
}

TEST(StepBreakdown, LeavesOutWhatThereIsNot) {
  EXPECT_EQ(breakdown_text(0.5, {.copy = 0.019, .compute = 1.5, .apply = 0}, 2),
            "input 25%, compute 75%, apply 0%");
  EXPECT_EQ(breakdown_text(0, {.copy = 0.02, .compute = 1, .apply = 0.5}, 2),
            "input 0%, copy 1%, compute 50%, apply 25%");
  EXPECT_EQ(breakdown_text(0, {.compute = 1, .exposed_reduction = 0.5}, 2),
            "input 0%, compute 50%, reduce 25%, apply 0%");
  EXPECT_EQ(breakdown_text(0, {.compute = 1, .hidden_reduction = 0.5}, 2),
            "input 0%, compute 50%, reduce 0% (+25% hidden), apply 0%");
  EXPECT_EQ(breakdown_text(0.5, {}, 2), "input 25%");
}

TEST(StepBreakdown, NoShareIsAboveTheWhole) {
  EXPECT_EQ(breakdown_text(2.5, {.compute = 3}, 2), "input 100%, compute 100%, apply 0%");
}

TEST(StepSums, OfNoSecondsHaveNoSpeedAndNoShares) {
  StepSums sums{.steps = 2, .rows = 8, .input_wait_seconds = 1, .times = {.compute = 1}};
  EXPECT_EQ(sums.steps_per_second(), 0);
  EXPECT_EQ(sums.examples_per_second(), 0);
  EXPECT_EQ(sums.waiting_fraction(), 0);
  EXPECT_EQ(breakdown_text(sums), "input 0%, compute 0%, apply 0%");
}

TEST(StepSums, AreAddedAndDivided) {
  StepSums sums{.steps = 1, .rows = 6, .seconds = 2, .input_wait_seconds = 1, .times = {.copy = 3}};
  sums += {.steps = 3, .rows = 2, .seconds = 6, .input_wait_seconds = 1, .times = {.copy = 1}};
  EXPECT_EQ(sums.steps_per_second(), 0.5);
  EXPECT_EQ(sums.examples_per_second(), 1);
  EXPECT_EQ(sums.waiting_fraction(), 0.25);
  StepSums half = sums / 2;
  EXPECT_EQ(half.steps, 2);
  EXPECT_EQ(half.rows, 4);
  EXPECT_EQ(half.seconds, 4);
  EXPECT_EQ(half.input_wait_seconds, 1);
  EXPECT_EQ(half.times.copy, 2);
}

}  // namespace
}  // namespace belfry
