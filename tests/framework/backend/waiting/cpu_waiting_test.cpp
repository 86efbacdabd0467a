// How kernels' threads wait. What is tested is that they change over, not what is gained. It is
// what a whole process does, so the test has one of its own.

#include <gtest/gtest.h>
#include <omp.h>
#include <sched.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <thread>

#include "belfry/framework/backend/cpu/parallel.h"
#include "belfry/framework/backend/cpu/waiting.h"

extern "C" __attribute__((weak)) int kmp_get_blocktime();  // LLVM's runtime

namespace belfry::cpu {
namespace {

using Clock = std::chrono::steady_clock;

std::ptrdiff_t threads_of_process() {
  return std::distance(std::filesystem::directory_iterator("/proc/self/task"), {});
}

// Some systems have the file without numbers.
bool tells_of_waiting() {
  std::ifstream file("/proc/self/schedstat");
  std::int64_t ran = 0;
  return file >> ran && ran > 0;
}

// For the two threads of the calling thread's team.
void use_one_core() {
  auto use = [](int, const void*) {
    cpu_set_t allowed, first;
    ASSERT_EQ(sched_getaffinity(0, sizeof allowed, &allowed), 0);
    int core = 0;
    while (!CPU_ISSET(core, &allowed)) ++core;
    CPU_ZERO(&first);
    CPU_SET(core, &first);
    ASSERT_EQ(sched_setaffinity(0, sizeof first, &first), 0);
  };
  run_pieces(2, use, nullptr);
}

// A step of some milliseconds on two threads.
void step() {
  choose_waiting(2);
  run_pieces(
      2,
      [](int, const void*) {
        auto end = Clock::now() + std::chrono::milliseconds(2);
        while (Clock::now() < end) {
        }
      },
      nullptr);
}

bool steps_until(auto condition) {
  auto end = Clock::now() + std::chrono::minutes(2);
  while (!condition() && Clock::now() < end) step();
  return condition();
}

// As many threads of libgomp as make it spin less, or no time of LLVM's.
void two_threads_on_one_core() {
  int cores = omp_get_num_procs();
  step();  // makes the team, for which LLVM counts the cores
  use_one_core();
  if (kmp_get_blocktime) {
    int usual = kmp_get_blocktime();
    if (usual == 0) GTEST_SKIP() << "one core alone, where LLVM's threads never spin";
    EXPECT_TRUE(steps_until([] { return kmp_get_blocktime() == 0; }));
    EXPECT_TRUE(steps_until([&] { return kmp_get_blocktime() == usual; }));
    return;
  }
  auto before = threads_of_process();
  // A team of one thread more than there are cores.
  EXPECT_TRUE(steps_until([&] { return threads_of_process() == before + cores + 1; }));
  EXPECT_TRUE(steps_until([&] { return threads_of_process() == before; }));
}

TEST(CpuWaiting, ThreadsThatWaitForACoreSleepAndThenTryAgain) {
  for (const char* name : {"OMP_WAIT_POLICY", "GOMP_SPINCOUNT", "KMP_BLOCKTIME"})
    if (std::getenv(name)) GTEST_SKIP() << name << " is set, and obeyed";
  if (std::thread::hardware_concurrency() > 31) GTEST_SKIP() << "so many cores, so no idle team";
  if (!tells_of_waiting()) GTEST_SKIP() << "the system does not tell of waiting for cores";
  // Nothing of OpenMP is called in this thread, which would be one more.
  std::thread(two_threads_on_one_core).join();
}

}  // namespace
}  // namespace belfry::cpu
