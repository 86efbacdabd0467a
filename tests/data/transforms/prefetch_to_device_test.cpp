#include <algorithm>
#include <array>
#include <atomic>
#include <memory>
#include <vector>

#include "pipeline.h"

namespace belfry::data {
namespace {

AllocateHost counted(std::atomic<int>& allocations) {
  return [&](Bytes size) {
    ++allocations;
    return std::shared_ptr<void>(
        std::make_unique<std::byte[]>(static_cast<std::size_t>(size.count)).release(),
        [](void* p) { delete[] static_cast<std::byte*>(p); });
  };
}

Transform into_counted_memory(std::atomic<int>& allocations, std::int64_t buffers = 2) {
  return prefetch_to_device({.buffers = buffers, .allocate = counted(allocations)});
}

TEST(PrefetchToDevice, YieldsTheSameFromAFewBuffers) {
  std::atomic<int> allocations = 0;
  Dataset data = range(100) | batch(3);
  EXPECT_EQ(words(data | into_counted_memory(allocations)), words(data));
  EXPECT_LE(allocations, 4);
  EXPECT_EQ(words(data | prefetch_to_device()), words(data));
  expect_resumes(data | prefetch_to_device());
}

TEST(PrefetchToDevice, ConsumersMayKeepBatches) {
  std::atomic<int> allocations = 0;
  InputStreamPtr stream = open(range(20) | batch(2) | into_counted_memory(allocations));
  std::vector<Features> kept;
  for (Features batch; stream->next(batch); batch = {}) kept.push_back(batch);
  for (std::size_t i = 0; i < kept.size(); ++i)
    EXPECT_EQ(kept[i].at("value").span<std::int64_t>()[1], static_cast<std::int64_t>(2 * i + 1));
}

// The allocations are for the batches held, two that are ready or become so, and one on its way.
TEST(PrefetchToDevice, MemoryOfConsumersThatHoldSeveralGoesRoundToo) {
  std::atomic<int> allocations = 0;
  InputStreamPtr stream = open(range(100) | batch(2) | into_counted_memory(allocations));
  std::array<Features, 5> held;
  Features batch;
  for (std::int64_t i = 0; stream->next(batch); ++i) {
    std::swap(held[static_cast<std::size_t>(i % 5)], batch);
    for (std::int64_t j = std::max<std::int64_t>(0, i - 4); j <= i; ++j)
      ASSERT_EQ(held[static_cast<std::size_t>(j % 5)].at("value").at(0), 2 * j);
  }
  EXPECT_LE(allocations, 8);
}

TEST(PrefetchToDevice, TakesTheMemoryOfTheContextUnlessItHasItsOwn) {
  std::atomic<int> of_context = 0, own = 0;
  InputContext context{.allocate_host = counted(of_context)};
  Dataset data = range(20) | batch(2);
  // The pass of a later epoch, and of a part of the data.
  EXPECT_EQ(words(*(data | prefetch_to_device() | repeat(2)).open(context)),
            words(data | repeat(2)));
  EXPECT_GE(of_context, 4);
  of_context = 0;
  words(*concatenate(data, data | prefetch_to_device()).open(context));
  EXPECT_GE(of_context, 2);
  of_context = 0;
  EXPECT_EQ(words(*(data | into_counted_memory(own)).open(context)), words(data));
  EXPECT_EQ(of_context, 0);
  EXPECT_GE(own, 2);
}

// 1, 2, ... 60 elements: memory that fits each would be taken 60 times a buffer.
TEST(PrefetchToDevice, MemoryGrowsByMoreThanIsNeeded) {
  std::atomic<int> allocations = 0;
  auto grow = map([](Features in) {
    std::int64_t size = in.at("value").span<std::int64_t>()[0] + 1;
    return Features{{"value", Array::zeros(Shape{100 * size}, DType::f32)}};
  });
  InputStreamPtr stream = open(range(60) | grow | into_counted_memory(allocations));
  Features batch;
  for (std::int64_t i = 0; i < 60; ++i) {
    ASSERT_TRUE(stream->next(batch));
    EXPECT_EQ(batch.at("value").elements(), 100 * (i + 1));
  }
  EXPECT_LE(allocations, 4 * 12);  // 1.5 ^ 10 = 58
}

TEST(PrefetchToDevice, RefusesWhatCannotWork) {
  EXPECT_EQ(error_of([] { prefetch_to_device({.buffers = 1'000'000'000}); }),
            "prefetch_to_device: at most 1048576 elements can be read ahead, got 1000000000; "
            "cache() keeps all of them");
  EXPECT_EQ(error_of([] { prefetch_to_device({.buffers = 0}); }),
            "prefetch_to_device: there must be at least 1 buffer, got 0");
}

}  // namespace
}  // namespace belfry::data
