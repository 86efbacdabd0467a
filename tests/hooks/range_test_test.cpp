#include "belfry/hooks/range_test.h"

#include <gmock/gmock.h>

#include "../framework/base/error_of.h"
#include "hooks_support.h"

namespace belfry::hooks {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

// Rates 1, 2, 4, 8, 16. The means of the losses, by 0.9 to the number of steps ago: 10;
// (9 + 8) / 1.9 = 8.947; (8.1 + 7.2 + 2) / 2.71 = 6.384; then the loss rises.
TEST(RangeTest, SuggestsWhereTheLossFellTheMost) {
  FakeContext context;
  CapturedLog log;
  auto watch = watch_range_test({.from = 1, .to = 16, .steps = 5});
  watch->begin(context);
  for (double loss : {10, 8, 2, 9}) context.finish_step(*watch, {.context = context, .loss = loss});
  EXPECT_EQ(context.stop_reason, "");
  ASSERT_EQ(watch->curve().size(), 4u);
  EXPECT_DOUBLE_EQ(watch->curve()[2].rate, 4);
  EXPECT_DOUBLE_EQ(watch->curve()[2].loss, 17.3 / 2.71);
  EXPECT_DOUBLE_EQ(watch->suggested().value(), 4);
  context.finish_step(*watch, {.context = context, .loss = 200});
  EXPECT_EQ(context.stop_reason, "range test: the loss rises at a learning rate of 16");
  watch->end(context, Outcome::stopped);
  EXPECT_THAT(log.lines, ElementsAre("range test: the loss fell the most at a learning rate of 4"));
}

TEST(RangeTest, StopsWhereTheLossIsNotFinite) {
  FakeContext context;
  CapturedLog log;
  auto watch = watch_range_test();
  context.finish_step(*watch, {.context = context, .loss = 1});
  context.finish_step(*watch, {.context = context, .loss = std::nan("")});
  EXPECT_THAT(context.stop_reason, HasSubstr("the loss rises"));
  EXPECT_FALSE(watch->suggested());
  watch->end(context, Outcome::stopped);
  EXPECT_THAT(log.lines, ElementsAre("range test: the loss never fell"));
  EXPECT_THAT(error_of([] { watch_range_test({.from = 1, .to = 1}); }),
              HasSubstr("range_test: it goes from 1 to 1"));
}

}  // namespace
}  // namespace belfry::hooks
