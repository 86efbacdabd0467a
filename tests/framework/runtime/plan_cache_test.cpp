#include "belfry/framework/runtime/plan_cache.h"

#include <gtest/gtest.h>

namespace belfry {
namespace {

auto is(int wanted) {
  return [wanted](int entry) { return entry == wanted; };
}

TEST(PlanCache, LetsTheLeastRecentlyUsedGo) {
  PlanCache<int> cache(2);
  cache.add(1);
  cache.add(2);
  EXPECT_EQ(*cache.use(is(1)), 1);
  EXPECT_EQ(*cache.find(is(2)), 2);  // no use
  cache.add(3);
  EXPECT_TRUE(cache.find(is(1)));
  EXPECT_FALSE(cache.find(is(2)));
  EXPECT_FALSE(cache.use(is(2)));
}

TEST(PlanCache, KeepsWhatSomebodyHolds) {
  PlanCache<int> cache(1);
  auto first = cache.add(1), second = cache.add(2);
  EXPECT_FALSE(cache.drop_one());
  EXPECT_EQ(*first + *second, 3);
  EXPECT_TRUE(cache.find(is(1)));
  second.reset();
  EXPECT_TRUE(cache.drop_one());
  EXPECT_FALSE(cache.find(is(2)));
  first.reset();
  cache.add(3);
  EXPECT_FALSE(cache.find(is(1)));
}

TEST(PlanCache, DropsWhatIsNamed) {
  PlanCache<int> cache(3);
  for (int i : {1, 2, 3}) cache.add(i);
  cache.drop([](int entry) { return entry != 2; });
  EXPECT_TRUE(cache.find(is(2)));
  EXPECT_TRUE(cache.drop_one());
  EXPECT_FALSE(cache.drop_one());
}

}  // namespace
}  // namespace belfry
