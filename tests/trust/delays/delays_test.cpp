#include "delays.h"

#include <gtest/gtest.h>

#include <chrono>

#include "belfry/framework/base/log.h"
#include "belfry/framework/base/mutex.h"

namespace belfry {
namespace {

class Delays : public testing::Test {
 protected:
  ~Delays() override { delay_locks(0, 0); }

  static std::uint64_t of_thousand_locks(std::uint32_t one_in) {
    delay_locks(3, one_in);
    std::uint64_t before = delays_made();
    Mutex mutex;
    for (int i = 0; i < 1000; ++i) MutexLock lock(mutex);
    return delays_made() - before;
  }
};

// A lock and an unlock each.
TEST_F(Delays, MeetTheShareOfLocksThatIsAskedFor) {
  EXPECT_EQ(of_thousand_locks(0), 0u);
  EXPECT_GE(of_thousand_locks(1), 2000u);
  std::uint64_t some = of_thousand_locks(10);
  EXPECT_GT(some, 100u);
  EXPECT_LT(some, 400u);
}

// Nobody notifies.
TEST_F(Delays, EndWaiting) {
  delay_locks(3, 1);
  Mutex mutex;
  Condition condition;
  MutexLock lock(mutex);
  std::uint64_t before = delays_made();
  condition.wait(mutex);
  EXPECT_TRUE(condition.wait_until(mutex, std::chrono::steady_clock::time_point::max()));
  EXPECT_GE(delays_made(), before + 2);
}

// A log line is written under a lock of the library.
TEST_F(Delays, MeetTheLibrarysLocks) {
  LogSink before = set_log_sink([](LogLevel, std::string_view) {});
  delay_locks(3, 1);
  std::uint64_t first = delays_made();
  log_info("a line");
  EXPECT_GT(delays_made(), first);
  set_log_sink(before);
}

}  // namespace
}  // namespace belfry
