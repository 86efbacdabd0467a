#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "belfry/hooks/updates.h"

namespace belfry::hooks {
namespace {

TEST(AccumulateTest, AsksForParts) {
  EXPECT_EQ(accumulate(1)->micro_batches(), 1);
  EXPECT_EQ(accumulate(5)->micro_batches(), 5);
  EXPECT_EQ(accumulate(2)->name(), "");  // keeps nothing in a checkpoint
}

TEST(AccumulateTest, RefusesFewerThanOne) {
  EXPECT_THAT([] { accumulate(0); },
              testing::ThrowsMessage<Error>(
                  "hooks::accumulate: there must be at least 1 micro-batch, got 0"));
}

}  // namespace
}  // namespace belfry::hooks
