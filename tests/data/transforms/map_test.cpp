// Covers map.cpp and parallel_map.cpp.
#include <atomic>
#include <chrono>
#include <thread>

#include "pipeline.h"

namespace belfry::data {
namespace {

using Words = std::vector<std::string>;

Features doubled(Features in) {
  in.at("value").span<std::int64_t>()[0] *= 2;
  return in;
}

Features noisy(Features in, PhiloxStream& random) {
  auto value = in.at("value").span<std::int64_t>();
  value[0] = value[0] * 1'000'000 + static_cast<std::int64_t>(random.below(1'000'000));
  return in;
}

// Takes very different times, so that later elements are done before earlier ones.
Features uneven(Features in, PhiloxStream& random) {
  std::this_thread::sleep_for(std::chrono::microseconds(random.below(300)));
  return noisy(std::move(in), random);
}

constexpr int all_workers[]{1, 2, 8, autotune};

TEST(Map, AppliesTheFunctionInOrder) {
  for (int workers : all_workers) {
    Values expected;
    for (std::int64_t i = 0; i < 300; ++i) expected.push_back(2 * i);
    EXPECT_EQ(values(range(300) | map(doubled, {.workers = workers}) | threads(4)), expected);
    EXPECT_EQ(values(range(0) | map(doubled, {.workers = workers})), Values{});
  }
  EXPECT_EQ(error_of([] { map(doubled, {.workers = 0}); }),
            "map: workers must be at least 1, or data::autotune; got 0");
}

TEST(Map, RandomNumbersDependOnElementAndEpochAlone) {
  Dataset source = range(100) | shuffle(100) | repeat(2);
  Values one = values(source | map(uneven, {.workers = 1}));
  for (int workers : {2, 8, autotune})
    EXPECT_EQ(values(source | map(uneven, {.workers = workers}) | threads(8)), one);

  // The same element gets the same numbers wherever it comes in the order.
  auto first_epoch = [](const Dataset& d) { return sorted(values(d, 100)); };
  EXPECT_EQ(first_epoch(range(100) | map(noisy)),
            first_epoch(range(100) | map(noisy) | shuffle(100)));
  // Epochs, seeds and places in the pipeline differ.
  EXPECT_NE(sorted(Values(one.begin(), one.begin() + 100)),
            sorted(Values(one.begin() + 100, one.end())));
  EXPECT_NE(values(range(100) | map(noisy)), values(range(100) | map(noisy, {.seed = 1})));
  EXPECT_NE(values(range(100) | map(noisy)), values(range(100) | take(100) | map(noisy)));
}

TEST(Map, KeepsRandomAccess) {
  Dataset data = range(50) | map(doubled, {.workers = 2}) | shuffle(50);
  EXPECT_TRUE(data.info().random_access);
  // The same permutation, of numbers that were not changed.
  Values expected = values(range(50) | failing_at({}) | shuffle(50));
  EXPECT_NE(expected, counting(0, 50));
  for (std::int64_t& value : expected) value *= 2;
  EXPECT_EQ(values(data), expected);
}

TEST(Map, AnErrorComesInPlaceOfItsElement) {
  for (int workers : all_workers) {
    Dataset data = range(6) | failing_at({1, 4}, workers) | threads(4);
    EXPECT_EQ(words(data), (Words{"0", "error: bad value 1 (at element 1, epoch 0)", "2", "3",
                                  "error: bad value 4 (at element 4, epoch 0)", "5"}));
    // Also one that comes from further up.
    EXPECT_EQ(words(data | map(doubled, {.workers = workers})),
              (Words{"0", "error: bad value 1 (at element 1, epoch 0, in map 1)", "4", "6",
                     "error: bad value 4 (at element 4, epoch 0, in map 1)", "10"}));
  }
}

TEST(Map, TurnsOtherExceptionsIntoErrors) {
  for (int workers : {1, 2}) {
    Dataset data = range(2) | repeat(2)
                   | map([](Features) -> Features { throw std::runtime_error("disk full"); },
                         {.workers = workers});
    EXPECT_EQ(words(data)[3], "error: map: disk full (at element 1, epoch 1)");
  }
}

TEST(Map, ErrorsSayWhichOfSeveral) {
  auto same = [](Features in) { return in; };
  auto throws = [](Features) -> Features { throw std::runtime_error("disk full"); };
  for (int workers : all_workers) {
    EXPECT_EQ(words(range(1) | map(same) | failing_at({0}, workers) | map(same)),
              Words{"error: bad value 0 (at element 0, epoch 0, in map 2)"});
    EXPECT_EQ(words(range(1) | map(throws, {.workers = workers}) | map(same)),
              Words{"error: map 1: disk full (at element 0, epoch 0)"});
    EXPECT_EQ(words(range(1) | map(throws, {.workers = workers, .name = "load"})),
              Words{"error: map(load): disk full (at element 0, epoch 0)"});
    auto fails = [](Features) -> Features { fail("no"); };
    EXPECT_EQ(words(range(1) | map(fails, {.workers = workers, .name = "load"})),
              Words{"error: no (at element 0, epoch 0, in map(load))"});
    EXPECT_EQ(words(range(1) | map_and_batch(fails, 1, {.workers = workers, .name = "load"})),
              Words{"error: no (at element 0, epoch 0, in map_and_batch(load))"});
  }
  auto keep = [](const Features&) -> bool { fail("no"); };
  EXPECT_EQ(words(range(1) | filter(keep) | filter(keep)),
            Words{"error: no (at element 0, epoch 0, in filter 1)"});
}

// Counts how many calls are in progress at once.
struct Gauge {
  std::atomic<int> running = 0, most = 0;
  auto function() {
    return [this](Features in) {
      int now = ++running;
      for (int seen = most; now > seen && !most.compare_exchange_weak(seen, now);) {
      }
      std::this_thread::sleep_for(std::chrono::microseconds(300));
      --running;
      return in;
    };
  }
};

// Reads until that many calls have been in progress at once, then some more; returns the most.
int most_of(const Gauge& gauge, const Dataset& gauged, int wanted) {
  InputStreamPtr stream = open(gauged);
  Features element;
  while (gauge.most < wanted) stream->next(element);
  for (int i = 0; i < 200; ++i) stream->next(element);
  stream = nullptr;
  return gauge.most;
}

int most_at_once(int workers, int wanted, const Transform& bounded = threads(6)) {
  Gauge gauge;
  auto gauged = map(gauge.function(), {.workers = workers});
  return most_of(gauge, range(100) | repeat() | gauged | bounded, wanted);
}

TEST(Map, RunsAsManyAtOnceAsItHasWorkers) {
  EXPECT_EQ(most_at_once(2, 2), 2);
  EXPECT_EQ(most_at_once(4, 4), 4);
}

TEST(Map, HasThreadsForTheWorkersThatItIsTold) {
  auto unbounded = [](Dataset d) { return d; };
  int workers = default_threads() + 7;
  EXPECT_EQ(most_at_once(workers, workers, unbounded), workers);
  // The thread that asks lends a hand.
  EXPECT_LE(most_at_once(8, 1, threads(1)), 2);
}

TEST(MapAndBatch, HasThreadsForTheWorkersThatItIsTold) {
  int workers = default_threads() + 7;
  Gauge gauge;
  auto gauged = map_and_batch(gauge.function(), 3, {.workers = workers});
  EXPECT_EQ(most_of(gauge, range(100) | repeat() | gauged, workers), workers);
}

// Each holds its threads until all of both are there.
TEST(Map, WorkersOfOneTakeNothingFromAnother) {
  std::atomic<int> first = 0, second = 0;
  auto meet = [&](std::atomic<int>& here) {
    return [&](Features in) {
      ++here;
      while (first < 4 || second < 4) std::this_thread::yield();
      return in;
    };
  };
  Dataset inner = range(8) | map(meet(second), {.workers = 5});
  InputStreamPtr beside = open(inner);
  Features element;
  std::thread reads_beside([&] { beside->next(element); });
  EXPECT_EQ(values(range(8) | map(meet(first), {.workers = 5})), counting(0, 8));
  reads_beside.join();
}

TEST(Map, RefusesMoreWorkersThanThereCanBe) {
  for (int workers : {257, 2'000'000'000})
    EXPECT_EQ(error_of([=] { map(doubled, {.workers = workers}); }),
              concat("map: workers must be at most 256, got ", workers,
                     "; each is a thread. To read further ahead, put prefetch(n) behind it"));
  EXPECT_EQ(error_of([] { map(doubled, {.workers = 256}); }), "no error");
}

TEST(Map, AutotuneAddsWorkersWhileTheConsumerWaits) { EXPECT_LE(most_at_once(autotune, 4), 6); }

TEST(Map, ElementsInFlightAreNotCountedAsConsumed) {
  for (int workers : {1, 2, 8, autotune}) {
    expect_resumes(range(40) | shuffle(40) | repeat(2) | map(noisy, {.workers = workers})
                   | threads(3));
    expect_resumes(streamed(40) | failing_at({3, 20}, workers));
  }
}

TEST(Map, IsDestroyedCleanlyWhileWorkIsInFlight) {
  for (int i = 0; i < 50; ++i) {
    auto alive = std::make_shared<int>(7);
    {
      InputStreamPtr stream = open(range(1000)
                                   | map(
                                       [alive](Features in) {
                                         EXPECT_EQ(*alive, 7);
                                         return in;
                                       },
                                       {.workers = 4})
                                   | threads(4));
      Features element;
      for (int n = 0; n < i; ++n) stream->next(element);
    }
    EXPECT_EQ(alive.use_count(), 1);  // nothing left behind holds the function
  }
}

TEST(Map, NestsWithoutStarving) {
  // Every call reads a parallel pipeline of its own, with more work than there are threads.
  Dataset inner = range(20) | map(doubled, {.workers = 4});
  auto sum = [=](Features) {
    Values v = values(inner);
    return Features{{"value", Array::scalar(std::accumulate(v.begin(), v.end(), std::int64_t{0}))}};
  };
  EXPECT_EQ(values(range(30) | map(sum, {.workers = 4})), Values(30, 380));
}

TEST(Map, UnorderedYieldsEachElementOnceAlsoAfterARestore) {
  PhiloxStream random(philox_key(5, "unordered"));
  for (int round = 0; round < 60; ++round) {
    Dataset data = range(20) | map(uneven, {.workers = 4, .ordered = false}) | threads(4);
    Words expected = words(range(20) | map(uneven));
    std::sort(expected.begin(), expected.end());
    InputStreamPtr stream = open(data);
    Words seen = words(*stream, static_cast<int>(random.below(6)));
    for (int restores = 0; restores < 3; ++restores) {
      InputStreamPtr next = open(data);
      next->restore(stream->save());
      stream = std::move(next);
      for (std::string& word : words(*stream, static_cast<int>(random.below(6))))
        seen.push_back(word);
    }
    for (std::string& word : words(*stream)) seen.push_back(word);
    std::sort(seen.begin(), seen.end());
    ASSERT_EQ(seen, expected) << "round " << round;
  }
}

}  // namespace
}  // namespace belfry::data
