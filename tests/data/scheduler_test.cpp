#include "belfry/data/scheduler.h"

#include <oneapi/tbb/global_control.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <latch>
#include <thread>

#include "../framework/base/resident_bytes.h"
#include "pipeline.h"

namespace belfry::data {
namespace {

TEST(Scheduler, DropsWhatWaitsWhenItGoes) {
  auto alive = std::make_shared<std::atomic<bool>>(false);
  auto scheduler = std::make_unique<Scheduler>(1);
  std::atomic<bool> begun = false, go_on = false, finished = false;
  scheduler->run([&] {
    begun = true;
    while (!go_on) std::this_thread::yield();
    finished = true;
  });
  while (!begun) std::this_thread::yield();
  for (int i = 0; i < 10; ++i) scheduler->run([alive] { *alive = true; });
  EXPECT_EQ(alive.use_count(), 11);
  scheduler.reset();
  EXPECT_EQ(alive.use_count(), 1);
  go_on = true;
  while (!finished) std::this_thread::yield();
  EXPECT_FALSE(*alive);
}

TEST(Scheduler, RunsAsManyTasksAtOnceAsItWasAskedFor) {
  auto first = std::make_unique<Scheduler>(4);
  Scheduler second(4);
  first.reset();  // takes nothing away from the second
  std::atomic<int> arrived = 0;
  for (int i = 0; i < 4; ++i)
    second.run([&] {
      ++arrived;
      while (arrived < 4) std::this_thread::yield();  // hangs unless all four run at once
      ++arrived;
    });
  while (arrived < 8) std::this_thread::yield();
  EXPECT_EQ(second.threads(), 4);
}

TEST(Scheduler, ThreadsAtWorkForOthersTakeNothingFromIt) {
  Scheduler first(8), second(2);
  std::atomic<int> begun = 0, met = 0, ended = 0;
  for (int i = 0; i < 2; ++i)
    first.run([&] {
      ++begun;
      while (met < 2) std::this_thread::yield();
      ++ended;
    });
  while (begun < 2) std::this_thread::yield();
  // oneTBB's other threads see that nothing waits, and go.
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  for (int i = 0; i < 2; ++i)
    second.run([&] {
      ++met;
      while (met < 2) std::this_thread::yield();  // hangs unless both run at once
      ++ended;
    });
  while (ended < 4) std::this_thread::yield();
  EXPECT_EQ(met, 2);
}

// Their claims grow while the first ones still wait for threads.
TEST(Scheduler, ThoseThatBeginTogetherGetAllTheirThreads) {
  for (int round = 0; round < 30; ++round) {
    Scheduler first(32), second(32);
    std::latch all(64), ended(64);
    auto meet = [&] {
      all.arrive_and_wait();  // hangs unless all 64 run at once
      ended.count_down();
    };
    for (int i = 0; i < 32; ++i) first.run(meet);
    for (int i = 0; i < 32; ++i) second.run(meet);
    ended.wait();
  }
}

// The host allows two threads beside its own, and the first has work without end for both.
TEST(Scheduler, ThoseThatShareTooFewThreadsTakeTurns) {
  namespace tbb = oneapi::tbb;
  tbb::global_control host(tbb::global_control::max_allowed_parallelism, 3);
  Scheduler first(2), second(2);
  std::atomic<bool> served = false;
  std::latch ended(3);
  std::function<void()> goes_on = [&] {
    if (served)
      ended.count_down();
    else
      first.run(goes_on);
  };
  first.run(goes_on);
  first.run(goes_on);
  second.run([&] {
    served = true;
    ended.count_down();
  });
  ended.wait();
  EXPECT_TRUE(served);
}

// The host allows one thread beside its own, which is busy. What the others claimed for work that
// they took back would show in the limit that is asked of oneTBB.
TEST(Scheduler, WhatIsGoneClaimsNothing) {
  namespace tbb = oneapi::tbb;
  auto limit = [] {
    return tbb::global_control::active_value(tbb::global_control::max_allowed_parallelism);
  };
  std::size_t before = limit();
  Scheduler busy(1);
  std::latch begun(1), go_on(1), ended(1);
  {
    tbb::global_control host(tbb::global_control::max_allowed_parallelism, 2);
    busy.run([&] {
      begun.count_down();
      go_on.wait();
      ended.count_down();
    });
    begun.wait();
    for (int i = 0; i < 100; ++i) Scheduler(1).run([] {});
  }
  EXPECT_LT(limit(), before + 10);
  go_on.count_down();
  ended.wait();
}

TEST(Scheduler, TakesMemoryBack) {
  Scheduler scheduler(1, Bytes(100));
  EXPECT_TRUE(scheduler.reserve(Bytes(60)));
  EXPECT_FALSE(scheduler.reserve(Bytes(60)));
  scheduler.release(Bytes(60));
  EXPECT_TRUE(scheduler.reserve(Bytes(100)));
}

TEST(Scheduler, RefusesThreadsThatThereCannotBe) {
  EXPECT_EQ(error_of([] { Scheduler(0); }),
            "threads: an input pipeline needs at least 1 thread, got 0");
  const std::string too_many = "threads: a process has at most 256 threads for input, got ";
  EXPECT_EQ(error_of([] { Scheduler(257); }), too_many + "257");
  EXPECT_EQ(error_of([] { threads(2'000'000'000); }), too_many + "2000000000");
  EXPECT_EQ(Scheduler(256).threads(), 256);
}

// Remains of a stream must not add up: an evaluation opens one every few steps, for weeks.
TEST(Scheduler, StreamsLeaveNothingBehind) {
  if (freed_memory_is_kept) GTEST_SKIP() << "sanitizers keep freed memory";
  auto same = [](Features in) { return in; };
  Dataset data = range(40) | map(same, {.workers = 4}) | threads(64);
  auto read = [&] {
    for (int i = 0; i < 2'000; ++i) ASSERT_EQ(values(data), counting(0, 40));
  };
  EXPECT_LT(growth_of(read), 600 << 10);
}

}  // namespace
}  // namespace belfry::data
