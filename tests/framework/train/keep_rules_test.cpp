#include <gtest/gtest.h>

#include "belfry/framework/train/run_config.h"

namespace belfry {
namespace {

using std::chrono::milliseconds, std::chrono::seconds;

TEST(KeepRules, OfStepsTheLastOfEachSpanStays) {
  KeepRules rules{.every = Steps(10)};
  auto stays = [&](std::int64_t step, std::int64_t next) {
    return belfry::stays(rules, {.step = step}, {.step = next}, std::nullopt);
  };
  EXPECT_FALSE(stays(8, 9));
  EXPECT_FALSE(stays(9, 10));  // the span of 10 is 1..10
  EXPECT_TRUE(stays(10, 11));
  EXPECT_TRUE(stays(7, 31));
  EXPECT_TRUE(stays(0, 1));
  EXPECT_TRUE(stays(31, 5));  // training began anew
}

TEST(KeepRules, OfTimeTheFirstOfEachSpanStays) {
  KeepRules rules{.every = seconds(10)};
  auto stays = [&](milliseconds written, std::optional<WrittenAt> last) {
    return belfry::stays(rules, {.step = 1, .time = written}, {.step = 2}, last);
  };
  EXPECT_TRUE(stays(seconds(3), std::nullopt));
  EXPECT_FALSE(stays(milliseconds(12999), WrittenAt{.step = 0, .time = seconds(3)}));
  EXPECT_TRUE(stays(seconds(13), WrittenAt{.step = 0, .time = seconds(3)}));
}

TEST(KeepRules, EachOfThemKeeps) {
  KeepRules rules{.every = Steps(10), .multiples_of = Steps(4)};
  auto stays = [&](std::int64_t step, std::int64_t next) {
    return belfry::stays(rules, {.step = step}, {.step = next}, std::nullopt);
  };
  EXPECT_TRUE(stays(4, 5));
  EXPECT_FALSE(stays(5, 6));
  EXPECT_TRUE(stays(10, 11));
  rules = {};
  EXPECT_FALSE(stays(4, 50));
}

}  // namespace
}  // namespace belfry
