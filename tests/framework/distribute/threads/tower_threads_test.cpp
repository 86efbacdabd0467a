#include "belfry/framework/distribute/tower_threads.h"

#include <gmock/gmock.h>

#include <atomic>
#include <barrier>

#include "belfry/framework/base/error.h"

namespace belfry {
namespace {

const std::function<void(const std::exception&)> nothing = [](const std::exception&) {};

TEST(TowerThreads, EveryTowerHasItsOwnThreadAndKeepsIt) {
  TowerThreads threads(3);
  std::vector<std::thread::id> first(3), second(3);
  threads.run([&](int t) { first[static_cast<std::size_t>(t)] = std::this_thread::get_id(); },
              nothing);
  threads.run([&](int t) { second[static_cast<std::size_t>(t)] = std::this_thread::get_id(); },
              nothing);
  EXPECT_EQ(first, second);
  EXPECT_EQ(first[0], std::this_thread::get_id());
  EXPECT_NE(first[1], first[2]);
  EXPECT_NE(first[1], first[0]);
}

TEST(TowerThreads, AllRunAtOnce) {
  TowerThreads threads(3);
  std::barrier meeting(3);  // would block for ever if one waited for another to end
  std::atomic<int> met = 0;
  threads.run(
      [&](int) {
        meeting.arrive_and_wait();
        ++met;
      },
      nothing);
  EXPECT_EQ(met, 3);
}

TEST(TowerThreads, TheFirstErrorIsTheOneThrownAndTheOthersAreTold) {
  TowerThreads threads(2);
  std::atomic<bool> told = false;
  auto work = [&](int tower) {
    if (tower == 1) fail("tower 1 is broken");
    while (!told) std::this_thread::yield();
    fail("another tower failed");
  };
  std::vector<std::string> failures;
  std::mutex mutex;
  try {
    threads.run(work, [&](const std::exception& error) {
      std::lock_guard lock(mutex);
      failures.emplace_back(error.what());
      told = true;
    });
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(), "tower 1 is broken");
  }
  EXPECT_THAT(failures, testing::ElementsAre("tower 1 is broken", "another tower failed"));
  std::atomic<int> ran = 0;
  threads.run([&](int tower) { ran += tower == 0; }, nothing);  // usable again
  EXPECT_EQ(ran, 1);
}

TEST(TowerThreads, TellingOfAnErrorMayFail) {
  TowerThreads threads(2);
  for (int broken : {0, 1}) {
    auto work = [=](int tower) { require(tower != broken, "broken"); };
    EXPECT_THROW(threads.run(work, [](const std::exception&) { throw std::bad_alloc(); }), Error);
  }
}

}  // namespace
}  // namespace belfry
