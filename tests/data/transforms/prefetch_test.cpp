#include <atomic>
#include <chrono>
#include <thread>

#include "belfry/data/selection/selection.h"
#include "pipeline.h"

namespace belfry::data {
namespace {

using Words = std::vector<std::string>;

Transform counted(std::shared_ptr<std::atomic<int>> reads) {
  return map([reads](Features in) {
    ++*reads;
    return in;
  });
}

TEST(Prefetch, ChangesNothing) {
  for (std::int64_t buffer : {1, 2, 50}) {
    EXPECT_EQ(values(range(30) | prefetch(buffer)), counting(0, 30));
    EXPECT_EQ(values(range(0) | prefetch(buffer)), Values{});
  }
  EXPECT_EQ(error_of([] { prefetch(0); }),
            "prefetch: the buffer must hold at least 1 element, or be data::autotune; got 0");
}

TEST(Prefetch, RefusesABufferThatNoMemoryHolds) {
  for (std::int64_t buffer : {1'000'000'000, (1 << 20) + 1})
    EXPECT_EQ(error_of([=] { prefetch(buffer); }),
              concat("prefetch: at most 1048576 elements can be read ahead, got ", buffer,
                     "; cache() keeps all of them"));
  EXPECT_EQ(values(range(5) | prefetch(1 << 20)), counting(0, 5));
}

TEST(Prefetch, ReadsAheadUpToItsBuffer) {
  auto reads = std::make_shared<std::atomic<int>>(0);
  InputStreamPtr stream = open(range(100) | counted(reads) | prefetch(5));
  EXPECT_EQ(*reads, 0);  // nothing is read before the first next()
  Features element;
  stream->next(element);
  while (*reads < 6) std::this_thread::yield();
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  EXPECT_EQ(*reads, 6);
}

TEST(Prefetch, DeliversErrorsInPlaceOfTheirElements) {
  EXPECT_EQ(words(range(5) | failing_at({0, 3}) | prefetch(4)),
            (Words{"error: bad value 0 (at element 0, epoch 0)", "1", "2",
                   "error: bad value 3 (at element 3, epoch 0)", "4"}));
}

// A source whose second pass cannot be opened: neither its next element nor its position is to be
// had.
TEST(Prefetch, DeliversErrorsFromOpeningAPass) {
  Dataset twice("twice", [](const Pass& pass) {
    require(pass.epoch == 0, "no such file");
    return range(2).iterate(pass);
  });
  for (const Transform& ahead : {prefetch(3), failing_at({}, 2)})
    EXPECT_EQ(words(twice | repeat(2) | ahead, 4), (Words{"0", "1", "error: no such file"}));
}

TEST(Prefetch, EndsForGood) {
  InputStreamPtr stream = open(range(1) | prefetch());
  Features element;
  EXPECT_TRUE(stream->next(element));
  for (int i = 0; i < 3; ++i) EXPECT_FALSE(stream->next(element));
}

TEST(Prefetch, ElementsInFlightAreNotCountedAsConsumed) {
  expect_resumes(range(30) | shuffle(30) | repeat(2) | prefetch(7));
  expect_resumes(streamed(30) | shuffle(9) | batch(4) | prefetch(3) | repeat(2));
  expect_resumes(streamed(30) | failing_at({2, 9, 10}) | prefetch(3));
}

TEST(Prefetch, IsDestroyedCleanlyWhileReading) {
  for (int i = 0; i < 50; ++i) {
    InputStreamPtr stream =
        open(range(1000) | failing_at({}, 4) | prefetch(3) | batch(2) | prefetch(2) | threads(3));
    Features element;
    for (int n = 0; n < i; ++n) stream->next(element);
  }
}

// Fast in runs of `run` elements, then slow.
Dataset uneven(std::int64_t run) {
  return generator([=, i = std::int64_t{0}]() mutable {
    if (i % run == 0) std::this_thread::sleep_for(std::chrono::milliseconds(6));
    return Features{{"value", Array::scalar(i++)}};
  });
}

// The buffer of a stage, after `elements` more than it takes to reach `least`. Where the machine is
// busy with other things, the consumer may for long be slower than the source.
int buffer_after(const Dataset& dataset, int elements, std::size_t stage = 0, int least = 0) {
  InputStreamPtr stream = open(dataset);
  Features element;
  auto read = [&] {
    stream->next(element);
    std::this_thread::sleep_for(std::chrono::microseconds(300));
  };
  while (stream->stages()[stage].buffer < least) read();
  for (int i = 0; i < elements; ++i) read();
  return stream->stages()[stage].buffer;
}

TEST(Prefetch, FindsTheBufferThatASourceNeeds) {
  EXPECT_EQ(buffer_after(uneven(16) | prefetch(5), 5), 5);
  EXPECT_GE(buffer_after(uneven(16) | prefetch(autotune), 0, 0, 8), 8);
  EXPECT_EQ(words(range(50) | prefetch(autotune)), words(range(50)));
  expect_resumes(range(50) | prefetch(autotune));
}

TEST(Prefetch, GrowsWithinTheMemoryOfThePipeline) {
  Dataset data = uneven(16) | prefetch(autotune) | with_options({.memory = Bytes(8 * 2)});
  EXPECT_EQ(buffer_after(data, 100, 1, 4), 4);  // two elements of 8 bytes more
}

}  // namespace
}  // namespace belfry::data
