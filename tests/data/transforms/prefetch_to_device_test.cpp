#include <set>

#include "pipeline.h"

namespace belfry::data {
namespace {

Transform into_counted_memory(std::atomic<int>& allocations, std::int64_t slots = 2) {
  return prefetch_to_device(
      {.slots = slots, .allocate = [&](Bytes size) {
         ++allocations;
         return std::shared_ptr<void>(
             std::make_unique<std::byte[]>(static_cast<std::size_t>(size.count)).release(),
             [](void* p) { delete[] static_cast<std::byte*>(p); });
       }});
}

TEST(PrefetchToDevice, YieldsTheSameFromAFewSlots) {
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

TEST(PrefetchToDevice, RefusesWhatCannotWork) {
  EXPECT_EQ(error_of([] { prefetch_to_device({.slots = 0}); }),
            "prefetch_to_device: there must be at least 1 slot, got 0");
}

}  // namespace
}  // namespace belfry::data
