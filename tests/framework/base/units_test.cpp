#include "belfry/framework/base/units.h"

#include <gtest/gtest.h>

#include "belfry/framework/base/text.h"

namespace belfry {
namespace {

TEST(Units, QuantitiesOfOneKindCompare) {
  EXPECT_EQ(Steps{3}, Steps{3});
  EXPECT_LT(Steps{3}, Steps{4});
  EXPECT_GT(Bytes{1 << 20}, Bytes{1 << 10});
}

TEST(Units, ACadenceIsStepsOrSecondsAndSaysWhich) {
  EXPECT_EQ(to_string(Every(Steps{500})), "500 steps");
  EXPECT_EQ(to_string(Every(std::chrono::minutes(10))), "600 s");
  EXPECT_EQ(concat("saved every ", Every(std::chrono::seconds(1))), "saved every 1 s");
  EXPECT_NE(Every(Steps{1}), Every(std::chrono::seconds(1)));
}

}  // namespace
}  // namespace belfry
