#include "../transforms/reading.h"
#include "belfry/data/selection/selection.h"

namespace belfry::data {
namespace {

TEST(ShardTransform, KeepsEveryNth) {
  for (const Dataset& source : {range(10), streamed(10)}) {
    EXPECT_EQ(values(source | shard(3, 0)), (Values{0, 3, 6, 9}));
    EXPECT_EQ(values(source | shard(3, 1)), (Values{1, 4, 7}));
    EXPECT_EQ(values(source | shard(1, 0)), counting(0, 10));
    EXPECT_EQ(values(source | shard(20, 9)), (Values{9}));
    EXPECT_EQ(values(source | shard(20, 10)), Values{});
  }
}

TEST(ShardTransform, RefusesAShardThatThereIsNot) {
  EXPECT_EQ(error_of([] { shard(0, 0); }), "shard: count must be at least 1, got 0");
  EXPECT_EQ(error_of([] { shard(4, 4); }), "shard: index must be from 0 to 3, got 4");
  EXPECT_EQ(error_of([] { shard(4, -1); }), "shard: index must be from 0 to 3, got -1");
}

TEST(ShardTransform, KnowsWhatIsLeft) {
  EXPECT_EQ((range(10) | shard(3, 0)).cardinality(), 4);
  EXPECT_EQ((range(10) | shard(3, 2)).cardinality(), 3);
  EXPECT_EQ((range(2) | shard(3, 2)).cardinality(), 0);
  EXPECT_EQ((range(2) | repeat() | shard(3, 2)).cardinality(), infinite);
  EXPECT_EQ((streamed(2) | shard(3, 2)).cardinality(), unknown);
}

TEST(ShardTransform, CanBeReadInAnyOrder) {
  Dataset data = range(20) | shard(3, 2);  // 2, 5, 8, 11, 14, 17
  EXPECT_TRUE(data.info().random_access);
  EXPECT_EQ(values(data | skip(1) | take(3)), (Values{5, 8, 11}));
  EXPECT_EQ(sorted(values(data | shuffle(6))), (Values{2, 5, 8, 11, 14, 17}));
  EXPECT_NE(values(data | shuffle(6)), (Values{2, 5, 8, 11, 14, 17}));
  EXPECT_EQ(values(data | shard(2, 1)), (Values{5, 11, 17}));
  // After a shuffle it takes every third of the new order.
  Values whole = values(range(20) | shuffle(20));
  EXPECT_EQ(values(range(20) | shuffle(20) | shard(8, 3)),
            (Values{whole[3], whole[11], whole[19]}));
}

TEST(ShardTransform, ProducesNoneOfTheOthers) {
  EXPECT_EQ(words(streamed(6) | failing_at({0, 1, 3, 4}) | shard(3, 2)), (Words{"2", "5"}));
  EXPECT_EQ(words(range(6) | failing_at({2}) | shard(3, 2)),
            (Words{"error: bad value 2 (at element 2, epoch 0)", "5"}));
}

TEST(ShardTransform, ResumesAnywhere) {
  for (const Dataset& source : {range(20), streamed(20)}) {
    expect_resumes(source | shard(3, 1) | repeat(2));
    expect_skips(source | shard(3, 1));
  }
  expect_resumes(range(20) | shard(3, 1) | shuffle(7) | repeat(2));
}

TEST(ShardTransform, IsSharedFurther) {
  EXPECT_EQ(part(range(12) | shard(2, 1), 2, 0), (Words{"1", "5", "9"}));
  EXPECT_EQ(part(range(12) | shard(2, 1), 2, 1), (Words{"3", "7", "11"}));
}

}  // namespace
}  // namespace belfry::data
