#include "belfry/framework/base/mutex.h"

#include <gtest/gtest.h>

#include <chrono>
#include <thread>

namespace belfry {
namespace {

struct Counter {
  void add_one() {
    MutexLock lock(mutex);
    ++count;
    changed.notify_all();
  }
  int wait_for(int wanted) {
    MutexLock lock(mutex);
    while (count < wanted) changed.wait(mutex);
    return count;
  }

  Mutex mutex;
  Condition changed;
  int count BELFRY_GUARDED_BY(mutex) = 0;
};

TEST(Mutex, TwoThreadsCountUnderIt) {
  Counter counter;
  auto count = [&] {
    for (int i = 0; i < 10'000; ++i) counter.add_one();
  };
  std::thread first(count), second(count);
  first.join();
  second.join();
  EXPECT_EQ(counter.wait_for(20'000), 20'000);
}

TEST(Mutex, AConditionIsWaitedFor) {
  Counter counter;
  std::thread other([&] {
    for (int i = 0; i < 3; ++i) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
      counter.add_one();
    }
  });
  EXPECT_EQ(counter.wait_for(3), 3);
  other.join();
}

TEST(Mutex, WaitingEndsWhenTheTimeHasCome) {
  Counter counter;
  auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(2);
  MutexLock lock(counter.mutex);
  while (counter.changed.wait_until(counter.mutex, end)) {
  }
  EXPECT_GE(std::chrono::steady_clock::now(), end);
  ++counter.count;  // the mutex is held again
  EXPECT_EQ(counter.count, 1);
}

TEST(Mutex, IsFreeWhileItIsGivenUp) {
  Counter counter;
  auto add_elsewhere = [&] { std::thread([&] { counter.add_one(); }).join(); };
  MutexLock lock(counter.mutex);
  {
    MutexUnlock meanwhile(counter.mutex);
    add_elsewhere();
  }
  EXPECT_EQ(counter.count, 1);
  lock.unlock();
  add_elsewhere();
  lock.lock();
  EXPECT_EQ(counter.count, 2);
}

TEST(Mutex, IsTriedWithoutWaiting) {
  Mutex mutex;
  auto is_free = [&] {
    bool free = false;
    std::thread([&] {
      if (!mutex.try_lock()) return;
      free = true;
      mutex.unlock();
    }).join();
    return free;
  };
  EXPECT_TRUE(is_free());
  MutexLock lock(mutex);
  EXPECT_FALSE(is_free());
}

}  // namespace
}  // namespace belfry
