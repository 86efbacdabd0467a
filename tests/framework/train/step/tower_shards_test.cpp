#include "belfry/framework/train/step/tower_shards.h"

#include "../training_testing.h"

namespace belfry {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

Features rows_of(const std::vector<float>& x) {
  return {{"x", Array::of(std::span(x), {std::ssize(x)})}};
}

std::vector<float> x_of(const TowerShard& shard) {
  auto x = shard.batch.at("x").span<float>();
  return {x.begin(), x.end()};
}

TEST(SplitBatch, TheFirstTowersTakeARowMore) {
  std::vector<TowerShard> shards(4);
  StepRows rows;
  EXPECT_EQ(split_batch(rows_of({0, 1, 2, 3, 4, 5}), {0, 4}, true, shards, rows), 4);
  EXPECT_THAT(x_of(shards[0]), ElementsAre(0, 1));
  EXPECT_THAT(x_of(shards[1]), ElementsAre(2, 3));
  EXPECT_THAT(x_of(shards[2]), ElementsAre(4));
  EXPECT_THAT(x_of(shards[3]), ElementsAre(5));
  EXPECT_EQ(shards[1].weight, 2.0 / 6);
  EXPECT_EQ(shards[3].weight, 1.0 / 6);
  EXPECT_EQ(std::tuple(rows.before, rows.all, rows.most_of_tower, rows.least_of_tower),
            std::tuple(0, 6, 2, 1));
}

TEST(SplitBatch, AWorkerTakesItsTowersPart) {
  std::vector<TowerShard> shards(2);
  StepRows rows;
  EXPECT_EQ(split_batch(rows_of({0, 1, 2, 3, 4, 5, 6}), {2, 4}, true, shards, rows), 2);
  EXPECT_THAT(x_of(shards[0]), ElementsAre(4, 5));
  EXPECT_THAT(x_of(shards[1]), ElementsAre(6));
  EXPECT_EQ(shards[1].rows.first, 6);
}

TEST(SplitBatch, TowersWithoutRowsTakePartOnAnyRowIfAllMust) {
  std::vector<TowerShard> shards(3);
  StepRows rows;
  EXPECT_EQ(split_batch(rows_of({7, 8}), {0, 3}, true, shards, rows), 3);
  EXPECT_THAT(x_of(shards[2]), ElementsAre(7));
  EXPECT_EQ(shards[2].rows.count, 0);
  EXPECT_EQ(shards[2].weight, 0);
  EXPECT_EQ(rows.least_of_tower, 1);  // of those that have rows
  EXPECT_FALSE(rows.even);
  EXPECT_EQ(split_batch(rows_of({7, 8}), {0, 3}, false, shards, rows), 2);
  EXPECT_EQ(split_batch(rows_of({}), {0, 3}, false, shards, rows), 1);
  EXPECT_EQ(shards[0].weight, 0);
}

TEST(SplitBatch, ScalarsAreEverybodysAndOtherFeaturesHaveTheBatchsRows) {
  std::vector<TowerShard> shards(2);
  StepRows rows;
  Features batch = rows_of({1, 2});
  batch.set("rate", Array::scalar(5.f));
  split_batch(batch, {0, 2}, true, shards, rows);
  EXPECT_EQ(shards[1].batch.at("rate").item(), 5);
  batch.set("x2", Array::of({1.f, 2.f, 3.f}));
  EXPECT_THAT(error_of([&] {
                split_batch(batch, {0, 2}, true, shards, rows);
              }),
              HasSubstr("cannot be cut for the towers"));
}

TEST(TakeBatches, OneForEachTower) {
  std::vector<TowerShard> shards(3);
  StepRows rows;
  std::vector<Features> batches{rows_of({1, 2, 3}), rows_of({4})};
  EXPECT_EQ(take_batches(batches, false, shards, rows), 2);
  EXPECT_EQ(take_batches(batches, true, shards, rows), 3);
  EXPECT_THAT(x_of(shards[1]), ElementsAre(4));
  EXPECT_EQ(shards[1].rows.first, 3);
  EXPECT_EQ(shards[1].weight, 0.25);
  EXPECT_THAT(x_of(shards[2]), ElementsAre(1));  // any row; it counts for nothing
  EXPECT_EQ(shards[2].weight, 0);
  EXPECT_EQ(std::tuple(rows.all, rows.most_of_tower, rows.least_of_tower), std::tuple(4, 3, 1));
}

TEST(StepRows, AreEvenIfAllTowersHaveAsMany) {
  std::vector<TowerShard> shards(2);
  StepRows rows;
  split_batch(rows_of({1, 2, 3, 4}), {0, 2}, true, shards, rows);
  EXPECT_TRUE(rows.even);
  split_batch(rows_of({1, 2, 3}), {0, 2}, true, shards, rows);
  EXPECT_FALSE(rows.even);
  for (std::size_t more : {0, 1, 2}) {
    std::vector<Features> batches{rows_of({1, 2}), rows_of(std::vector<float>(more, 5))};
    take_batches(batches, true, shards, rows);
    EXPECT_EQ(rows.even, more == 2) << more;
  }
}

TEST(StepRows, HaveALayoutIfBatchesDifferInRowsOnly) {
  std::vector<TowerShard> shards(2);
  StepRows rows;
  auto layout = [&](const Features& a, const Features& b) {
    std::vector<Features> batches{a, b};
    take_batches(batches, true, shards, rows);
    return rows.layout;
  };
  Features two = points({1, 2}, {1, 2}), three = points({1, 2, 3}, {1, 2, 3}), wide = two;
  wide.set("x", Array(Shape{2, 5}, DType::f32));
  EXPECT_NE(layout(two, three), 0u);
  EXPECT_EQ(layout(two, three), layout(two, two));
  EXPECT_NE(layout(two, two), layout(wide, wide));
  EXPECT_EQ(layout(two, wide), 0u);
  EXPECT_EQ(layout(rows_of({}), rows_of({})), 0u);
  split_batch(two, {0, 2}, true, shards, rows);
  EXPECT_EQ(rows.layout, layout(two, two));
}

TEST(TakeBatches, AnEmptyBatchBorrowsARowOfAnother) {
  std::vector<TowerShard> shards(2);
  StepRows rows;
  std::vector<Features> batches{rows_of({}), rows_of({4, 5})};
  EXPECT_EQ(take_batches(batches, true, shards, rows), 2);
  EXPECT_THAT(x_of(shards[0]), ElementsAre(4));
  EXPECT_EQ(shards[0].weight, 0);
  EXPECT_EQ(shards[1].weight, 1);
}

TEST(PlaceAmongWorkers, WeighsByTheRowsOfAll) {
  std::vector<TowerShard> shards(2);
  StepRows rows;
  std::vector<Features> batches{rows_of({1, 2}), rows_of({3})};
  take_batches(batches, true, shards, rows);
  rows.before = 10, rows.all = 20;
  offset_by_workers(rows, shards);
  EXPECT_EQ(shards[1].rows.first, 12);
  EXPECT_EQ(shards[0].weight, 0.1);
  EXPECT_EQ(shards[1].weight, 0.05);
}

}  // namespace
}  // namespace belfry
