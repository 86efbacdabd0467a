#include "belfry/framework/compiler/memory_planner.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "belfry/framework/tensor/philox.h"

namespace belfry {
namespace {

PlannedBlock block(std::int64_t bytes, int first, int last) {
  PlannedBlock out;
  out.bytes = bytes;
  out.first = first;
  out.last = last;
  return out;
}

std::int64_t rounded(std::int64_t bytes) { return (bytes + 63) / 64 * 64; }

void expect_valid(const std::vector<PlannedBlock>& blocks, std::int64_t total) {
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    const PlannedBlock& a = blocks[i];
    EXPECT_EQ(a.offset % 64, 0);
    EXPECT_GE(a.offset, 0);
    EXPECT_LE(a.offset + a.bytes, total);
    for (std::size_t j = 0; j < i; ++j) {
      const PlannedBlock& b = blocks[j];
      bool together = a.first <= b.last && b.first <= a.last;
      bool overlap = a.offset < b.offset + b.bytes && b.offset < a.offset + a.bytes;
      EXPECT_FALSE(together && overlap) << "blocks " << i << " and " << j;
    }
  }
}

// The most bytes that live at one moment: no plan can do with less.
std::int64_t lower_bound(const std::vector<PlannedBlock>& blocks) {
  std::int64_t most = 0;
  for (int t = 0; t < 200; ++t) {
    std::int64_t live = 0;
    for (const PlannedBlock& b : blocks)
      if (b.first <= t && t <= b.last) live += rounded(b.bytes);
    most = std::max(most, live);
  }
  return most;
}

TEST(MemoryPlanner, NothingNeedsNothing) {
  EXPECT_EQ(assign_offsets({}), 0);
  std::vector<PlannedBlock> empty{block(0, 0, 5), block(0, 2, 2)};
  EXPECT_EQ(assign_offsets(empty), 0);
}

TEST(MemoryPlanner, DisjointLivesShareMemory) {
  std::vector<PlannedBlock> blocks{block(100, 0, 1), block(128, 2, 3), block(1, 4, 4)};
  EXPECT_EQ(assign_offsets(blocks), 128);
  for (const PlannedBlock& b : blocks) EXPECT_EQ(b.offset, 0);
}

TEST(MemoryPlanner, BothEndsOfALifeBelongToIt) {
  std::vector<PlannedBlock> blocks{block(64, 0, 1), block(64, 1, 2)};
  EXPECT_EQ(assign_offsets(blocks), 128);
}

TEST(MemoryPlanner, ASmallInstanceIsPackedExactly) {
  // The peak is at 0: of the two blocks there the one that lives longer lies below. The others lie
  // where the first one was.
  std::vector<PlannedBlock> blocks{block(640, 0, 1), block(320, 0, 9), block(256, 2, 9),
                                   block(128, 2, 9), block(64, 2, 9)};
  EXPECT_EQ(assign_offsets(blocks), 960);
  EXPECT_EQ(blocks[0].offset, 320);
  EXPECT_EQ(blocks[1].offset, 0);
  EXPECT_EQ(blocks[2].offset, 320);
  EXPECT_EQ(blocks[3].offset, 576);
  EXPECT_EQ(blocks[4].offset, 704);
}

TEST(MemoryPlanner, GapsAreFilledWhereTheyAreLargeEnough) {
  // The peak is at 5, where the second block lies between the others; its place is free from 6 on.
  std::vector<PlannedBlock> blocks{block(640, 0, 9), block(1280, 0, 5), block(640, 5, 9),
                                   block(640, 7, 8), block(600, 7, 7),  block(100, 8, 8)};
  EXPECT_EQ(assign_offsets(blocks), 2560);
  EXPECT_EQ(blocks[0].offset, 0);
  EXPECT_EQ(blocks[1].offset, 640);
  EXPECT_EQ(blocks[2].offset, 1920);
  EXPECT_EQ(blocks[3].offset, 640);
  EXPECT_EQ(blocks[4].offset, 1280);
  EXPECT_EQ(blocks[5].offset, 1280);
}

TEST(MemoryPlanner, NeedsNoMoreThanLivesAtThePeak) {
  std::vector<PlannedBlock> blocks{block(1024, 0, 3), block(1000, 2, 3), block(256, 0, 1),
                                   block(128, 0, 1),  block(200, 2, 3),  block(100, 2, 3)};
  std::int64_t total = assign_offsets(blocks);
  expect_valid(blocks, total);
  EXPECT_EQ(total, lower_bound(blocks));
}

TEST(MemoryPlanner, RandomPlansAreValidAndCloseToTheBound) {
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    PhiloxStream random(philox_key(seed, "plan"));
    std::vector<PlannedBlock> blocks;
    auto count = random.below(60);
    for (std::uint64_t i = 0; i < count; ++i) {
      int first = static_cast<int>(random.below(100));
      int last = first + static_cast<int>(random.below(random.flip(0.2f) ? 100 : 5));
      blocks.push_back(block(static_cast<std::int64_t>(random.below(5000)), first, last));
    }
    std::int64_t total = assign_offsets(blocks);
    expect_valid(blocks, total);
    EXPECT_GE(total, lower_bound(blocks));
    EXPECT_LE(total, 2 * lower_bound(blocks)) << "seed " << seed;
  }
}

}  // namespace
}  // namespace belfry
