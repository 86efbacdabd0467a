#include "delays.h"

#include <pthread.h>
#include <stdlib.h>
#include <time.h>

#include <atomic>
#include <condition_variable>
#include <mutex>
#include <thread>

namespace belfry {
namespace {

std::atomic<std::uint32_t> chosen_seed, chosen_share, threads;
std::atomic<std::uint64_t> made;

// Before main(), and before other threads.
[[gnu::constructor]] void read_environment() {
  const char* seed = ::getenv("BELFRY_DELAYS");
  if (seed) delay_locks(static_cast<std::uint32_t>(::strtoul(seed, nullptr, 10)), 16);
}

// Marsaglia, "Xorshift RNGs", 2003.
std::uint32_t drawn() {
  thread_local std::uint32_t state = 0;
  if (state == 0) state = (chosen_seed + 1) * 2654435761U + ++threads * 40503U;
  if (state == 0) state = 1;
  state ^= state << 13;
  state ^= state >> 17;
  return state ^= state << 5;
}

// Nanoseconds; 0: none.
long drawn_delay() {
  std::uint32_t share = chosen_share.load(std::memory_order_relaxed);
  if (share == 0) return 0;
  std::uint32_t number = drawn();
  return number % share == 0 ? 1 + static_cast<long>(number / share % 300'000) : 0;
}

void delay(long nanoseconds) {
  if (nanoseconds == 0) return;
  made.fetch_add(1, std::memory_order_relaxed);
  timespec length{.tv_sec = 0, .tv_nsec = nanoseconds};
  ::nanosleep(&length, nullptr);
}

void maybe_delay() { delay(drawn_delay()); }

}  // namespace

void delay_locks(std::uint32_t seed, std::uint32_t one_in) {
  chosen_seed = seed;
  chosen_share = one_in;
}

std::uint64_t delays_made() { return made; }

}  // namespace belfry

// The linker's names for what it puts in place of a function (--wrap), and for the function itself;
// libstdc++'s by their mangled names.
extern "C" {
int __real_pthread_mutex_lock(pthread_mutex_t* mutex);
int __real_pthread_mutex_unlock(pthread_mutex_t* mutex);
int __real_pthread_cond_clockwait(pthread_cond_t* condition, pthread_mutex_t* mutex,
                                  clockid_t clock, const timespec* time);
void __real__ZNSt18condition_variable4waitERSt11unique_lockISt5mutexE(
    std::condition_variable* condition, std::unique_lock<std::mutex>& lock);
void __real__ZNSt18condition_variable10notify_oneEv(std::condition_variable* condition);
void __real__ZNSt18condition_variable10notify_allEv(std::condition_variable* condition);
void __real__ZNSt6thread4joinEv(std::thread* thread);

int __wrap_pthread_mutex_lock(pthread_mutex_t* mutex) {
  belfry::maybe_delay();
  return __real_pthread_mutex_lock(mutex);
}

int __wrap_pthread_mutex_unlock(pthread_mutex_t* mutex) {
  int status = __real_pthread_mutex_unlock(mutex);
  belfry::maybe_delay();
  return status;
}

// Waiting may end without a notification: where a delay is drawn, it does.
int __wrap_pthread_cond_clockwait(pthread_cond_t* condition, pthread_mutex_t* mutex,
                                  clockid_t clock, const timespec* time) {
  long nanoseconds = belfry::drawn_delay();
  if (nanoseconds == 0) return __real_pthread_cond_clockwait(condition, mutex, clock, time);
  __real_pthread_mutex_unlock(mutex);
  belfry::delay(nanoseconds);
  return __real_pthread_mutex_lock(mutex);
}

void __wrap__ZNSt18condition_variable4waitERSt11unique_lockISt5mutexE(
    std::condition_variable* condition, std::unique_lock<std::mutex>& lock) {
  long nanoseconds = belfry::drawn_delay();
  if (nanoseconds == 0)
    return __real__ZNSt18condition_variable4waitERSt11unique_lockISt5mutexE(condition, lock);
  lock.unlock();
  belfry::delay(nanoseconds);
  lock.lock();
}

void __wrap__ZNSt18condition_variable10notify_oneEv(std::condition_variable* condition) {
  belfry::maybe_delay();
  __real__ZNSt18condition_variable10notify_oneEv(condition);
}

void __wrap__ZNSt18condition_variable10notify_allEv(std::condition_variable* condition) {
  belfry::maybe_delay();
  __real__ZNSt18condition_variable10notify_allEv(condition);
}

void __wrap__ZNSt6thread4joinEv(std::thread* thread) {
  belfry::maybe_delay();
  __real__ZNSt6thread4joinEv(thread);
}
}
