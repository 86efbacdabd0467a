#include "belfry/framework/backend/cpu/waiting.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <omp.h>
#include <pthread.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <mutex>

#include "belfry/framework/backend/cpu/parallel.h"

// LLVM's runtime has these, libgomp does not. In milliseconds, for the teams of the calling thread.
extern "C" {
__attribute__((weak)) void kmp_set_blocktime(int);
__attribute__((weak)) int kmp_get_blocktime();
}

namespace belfry::cpu {
namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

constexpr Clock::duration look_every = 50ms;
constexpr Clock::duration shortest_sleep = 4s;
constexpr Clock::duration longest_sleep = 64s;

// What libgomp compares the number of its threads with.
const int cores_at_start = omp_get_num_procs();

// Of one thread's time. Threads that have their cores to themselves wait for less than 1 %.
constexpr double too_long_without_core = 0.1;

// How long the calling thread was ready to run and had no core; 0 where the system does not tell.
std::int64_t nanoseconds_without_core() {
  int file = open("/proc/thread-self/schedstat", O_RDONLY | O_CLOEXEC);
  if (file < 0) return 0;
  char content[96];
  ssize_t size = read(file, content, sizeof(content) - 1);
  close(file);
  content[std::max<ssize_t>(size, 0)] = '\0';
  long long ran = 0, waited = 0;
  return std::sscanf(content, "%lld %lld", &ran, &waited) == 2 ? waited : 0;
}

// The same for the calling thread's whole team, since the last call.
std::chrono::nanoseconds newly_without_core(int threads) {
  std::atomic<std::int64_t> sum = 0;
  auto add = [](int, const void* to) {
    thread_local std::int64_t known = nanoseconds_without_core();
    std::int64_t now = nanoseconds_without_core();
    *static_cast<std::atomic<std::int64_t>*>(const_cast<void*>(to)) += now - known;
    known = now;
  };
  run_pieces(threads, add, &sum);
  return std::chrono::nanoseconds(sum);
}

// While libgomp has more threads than there are cores, none spins more than 100 times, which its
// manual says under GOMP_SPINCOUNT. This is a team that does nothing but be more threads.
class IdleTeam {
 public:
  // Where the system has no thread left, those that there are go on spinning.
  void begin(int threads) {
    threads_ = threads;
    wanted_ = true;
    begun_ = pthread_create(&first_, nullptr, run, this) == 0;  // std::thread allocates
  }
  void end() {
    wanted_ = false;
    wanted_.notify_one();
    if (begun_) pthread_join(first_, nullptr);
  }

 private:
  static void* run(void* self) {
    auto& team = *static_cast<IdleTeam*>(self);
    run_pieces(
        team.threads_, [](int, const void*) {}, nullptr);
    team.wanted_.wait(true);
    return nullptr;
  }

  int threads_ = 0;
  bool begun_ = false;
  std::atomic<bool> wanted_ = false;
  pthread_t first_{};
};

// What all teams of the process have in common, as libgomp's threads spin or sleep all together.
class Waiting {
 public:
  // How often threads were told to spin, if that is what they do; 0 while they sleep.
  int spinning(Clock::time_point now) {
    std::lock_guard lock(mutex_);
    if (asleep_ && now >= until_) {
      asleep_ = false;
      since_ = now;
      ++times_;
      if (!is_llvm()) idle_.end();
    }
    return asleep_ ? 0 : times_;
  }

  // Another attempt that fails soon makes the next sleep longer.
  void sleep(Clock::time_point now, int threads) {
    std::lock_guard lock(mutex_);
    if (asleep_) return;
    bool again = times_ > 1 && now - since_ < shortest_sleep;
    length_ = again ? std::min(4 * length_, longest_sleep) : shortest_sleep;
    asleep_ = true;
    until_ = now + length_;
    if (!is_llvm()) idle_.begin(std::max(cores_at_start - threads, 0) + 2);
  }

  // Whether the functions of OpenMP that are called here are those of LLVM's library. A program may
  // have both.
  static bool is_llvm() {
    static const bool llvm = [] {
      Dl_info ours{}, llvms{};
      return kmp_set_blocktime && kmp_get_blocktime
             && dladdr(reinterpret_cast<void*>(&omp_get_num_procs), &ours)
             && dladdr(reinterpret_cast<void*>(&kmp_set_blocktime), &llvms)
             && ours.dli_fbase == llvms.dli_fbase;
    }();
    return llvm;
  }

 private:
  std::mutex mutex_;
  bool asleep_ = false;
  int times_ = 1;
  Clock::time_point since_ = Clock::now(), until_;
  Clock::duration length_ = shortest_sleep;
  IdleTeam idle_;
};

bool environment_says() {
  for (const char* name : {"OMP_WAIT_POLICY", "GOMP_SPINCOUNT", "KMP_BLOCKTIME"})
    if (std::getenv(name)) return true;
  return false;
}

}  // namespace

void choose_waiting(int threads) {
  static const bool chosen = environment_says();
  if (chosen || threads < 2) return;
  // Never destroyed, as the thread of an idle team may outlive main().
  static Waiting& waiting = *new Waiting;
  thread_local int watched = 0;  // the time of spinning in which this thread's team is watched
  thread_local Clock::time_point looked;

  Clock::time_point now = Clock::now();
  int spinning = waiting.spinning(now);
  if (Waiting::is_llvm()) {
    thread_local const int usual = kmp_get_blocktime();
    kmp_set_blocktime(spinning ? usual : 0);
  }
  if (!spinning || (spinning == watched && now - looked < look_every)) return;
  std::chrono::duration<double> waited = newly_without_core(threads);
  if (spinning == watched && waited > too_long_without_core * (now - looked))
    waiting.sleep(now, threads);
  watched = spinning;
  looked = now;
}

}  // namespace belfry::cpu
