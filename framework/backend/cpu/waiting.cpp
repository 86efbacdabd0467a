#include "belfry/framework/backend/cpu/waiting.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <omp.h>
#include <pthread.h>
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <thread>

#include "belfry/framework/backend/cpu/parallel.h"
#include "belfry/framework/base/mutex.h"

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

// Threads are to sleep when one of them lacked a core for this share of its time, in so many looks
// in succession. Threads that have their cores to themselves wait for less than 1 %, but for a look
// or two in fifty, in which something else had a core for 10 to 25 ms.
constexpr double too_long_without_core = 0.2;
constexpr int looks_in_succession = 3;

// How long the calling thread has been ready to run and had no core; nothing where the system does
// not tell.
std::optional<std::int64_t> nanoseconds_without_core() {
  int file = open("/proc/thread-self/schedstat", O_RDONLY | O_CLOEXEC);
  if (file < 0) return std::nullopt;
  char content[96];
  ssize_t size = read(file, content, sizeof(content) - 1);
  close(file);
  content[std::max<ssize_t>(size, 0)] = '\0';
  long long ran = 0, waited = 0;
  if (std::sscanf(content, "%lld %lld", &ran, &waited) != 2) return std::nullopt;
  return waited;
}

// The same since the last call, of the thread that has waited longest in the calling thread's team.
std::chrono::nanoseconds newly_without_core(int threads) {
  std::atomic<std::int64_t> longest = 0;
  auto look = [](int, const void* to) {
    thread_local std::optional<std::int64_t> known;
    std::optional<std::int64_t> now = nanoseconds_without_core();
    if (!now) return;
    std::int64_t waited = *now - known.value_or(*now);
    known = now;
    auto& most = *static_cast<std::atomic<std::int64_t>*>(const_cast<void*>(to));
    for (std::int64_t seen = most; seen < waited && !most.compare_exchange_weak(seen, waited);) {
    }
  };
  run_pieces(threads, look, &longest);
  return std::chrono::nanoseconds(longest);
}

// ---- idle threads: while libgomp has more threads than the process has cores, none spins more
// than 100 times, which its manual says under GOMP_SPINCOUNT

// Beyond so many cores threads go on spinning: that many idle ones are not made for it.
constexpr int most_cores = 32;

int cores_of_process() {
  cpu_set_t cores;
  return sched_getaffinity(getpid(), sizeof cores, &cores) == 0 ? CPU_COUNT(&cores) : most_cores;
}

// Whether the system has so many threads left. libgomp ends the process when it has not; in
// between others may still take them.
bool can_have_threads(int count) {
  std::array<pthread_t, most_cores> made;
  std::atomic<bool> wanted = true;
  auto wait = [](void* w) -> void* {
    static_cast<std::atomic<bool>*>(w)->wait(true);
    return nullptr;
  };
  int n = 0;
  while (n < count && pthread_create(&made[n], nullptr, wait, &wanted) == 0) ++n;
  wanted = false;
  wanted.notify_all();
  for (int i = 0; i < n; ++i) pthread_join(made[i], nullptr);
  return n == count;
}

// A team that does nothing for so many seconds: one thread more than there are cores, whatever
// other teams do meanwhile.
void* be_idle(void* seconds) {
  int cores = cores_of_process();
  if (!can_have_threads(cores)) return nullptr;
  run_pieces(
      cores + 1, [](int, const void*) {}, nullptr);
  std::this_thread::sleep_for(std::chrono::seconds(reinterpret_cast<std::intptr_t>(seconds)));
  return nullptr;
}

void begin_idle_team(Clock::duration length) {
  if (cores_of_process() >= most_cores) return;
  auto seconds = std::chrono::duration_cast<std::chrono::seconds>(length).count();
  pthread_t thread;  // std::thread allocates
  if (pthread_create(&thread, nullptr, be_idle, reinterpret_cast<void*>(seconds)) == 0)
    pthread_detach(thread);
}

// ----

// Whether the functions of OpenMP that are called here are those of LLVM's library. A program may
// have both.
bool is_llvm() {
  static const bool llvm = [] {
    Dl_info ours{}, llvms{};
    return kmp_set_blocktime && kmp_get_blocktime
           && dladdr(reinterpret_cast<void*>(&omp_get_num_procs), &ours)
           && dladdr(reinterpret_cast<void*>(&kmp_set_blocktime), &llvms)
           && ours.dli_fbase == llvms.dli_fbase;
  }();
  return llvm;
}

// All teams of the process share one state, as libgomp's threads spin or sleep all together. They
// spin for a spell, then they sleep.
class Waiting {
 public:
  // The number of the present spell, from 1 on; 0 while threads are to sleep.
  int current_spell(Clock::time_point now) {
    MutexLock lock(mutex_);
    if (asleep_ && now >= until_) {
      asleep_ = false;
      proven_ = false;
      since_ = now;
      ++spell_;
    }
    return asleep_ ? 0 : spell_;
  }

  // A look at a team has found that it had its cores.
  void spinning_is_right(Clock::time_point now) {
    MutexLock lock(mutex_);
    if (now - since_ >= shortest_sleep) proven_ = true;
  }

  // A spell that fails soon makes the next sleep longer.
  void sleep(Clock::time_point now) {
    MutexLock lock(mutex_);
    if (asleep_) return;
    length_ = proven_ ? shortest_sleep : std::min(4 * length_, longest_sleep);
    asleep_ = true;
    until_ = now + length_;
    if (!is_llvm()) begin_idle_team(length_);
  }

 private:
  Mutex mutex_;
  bool asleep_ BELFRY_GUARDED_BY(mutex_) = false;
  // The present spell has shown that spinning is right; the first may be long.
  bool proven_ BELFRY_GUARDED_BY(mutex_) = true;
  int spell_ BELFRY_GUARDED_BY(mutex_) = 1;
  Clock::time_point since_ BELFRY_GUARDED_BY(mutex_) = Clock::now();
  Clock::time_point until_ BELFRY_GUARDED_BY(mutex_);
  Clock::duration length_ BELFRY_GUARDED_BY(mutex_) = shortest_sleep;  // of the last sleep
};

void let_llvm_sleep(bool asleep) {
  thread_local bool told = false;
  thread_local int usual = 0;
  if (asleep == told) return;
  if (asleep) usual = kmp_get_blocktime();
  kmp_set_blocktime(asleep ? 0 : usual);
  told = asleep;
}

bool environment_says() {
  for (const char* name : {"OMP_WAIT_POLICY", "GOMP_SPINCOUNT", "KMP_BLOCKTIME"})
    if (std::getenv(name)) return true;
  return false;
}

}  // namespace

void choose_waiting(int threads) {
  static const bool chosen = environment_says();
  if (chosen || threads < 2) return;
  static Waiting waiting;
  thread_local int watched = 0;  // the spell in which this thread's team is watched
  thread_local Clock::time_point looked;
  thread_local int waited = 0;  // in how many looks in succession it had waited too long

  Clock::time_point now = Clock::now();
  int spell = waiting.current_spell(now);
  if (is_llvm()) let_llvm_sleep(spell == 0);
  if (spell == 0 || (spell == watched && now - looked < look_every)) return;
  std::chrono::duration<double> time_without_core = newly_without_core(threads);
  bool too_long = time_without_core > too_long_without_core * (now - looked);
  waited = spell == watched && too_long ? waited + 1 : 0;
  if (waited == looks_in_succession) waiting.sleep(now);
  if (spell == watched && !too_long) waiting.spinning_is_right(now);
  watched = spell;
  looked = now;
}

}  // namespace belfry::cpu
