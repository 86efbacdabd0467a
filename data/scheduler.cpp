#include "belfry/data/scheduler.h"

#include <oneapi/tbb/global_control.h>
#include <oneapi/tbb/info.h>
#include <oneapi/tbb/task_arena.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <mutex>
#include <utility>

#include "belfry/framework/base/error.h"

namespace belfry::data {

namespace tbb = oneapi::tbb;

namespace {

// oneTBB starts no more threads than the process has cores unless told to. The limit belongs to the
// process and the lowest one asked for counts, so there is one request here, which only grows; a
// lower limit set by the host stays in force.
void allow_threads(int threads) {
  static std::mutex mutex;
  static std::unique_ptr<tbb::global_control> control;
  constexpr auto limit = tbb::global_control::max_allowed_parallelism;
  auto wanted = static_cast<std::size_t>(threads) + 1;  // it counts a calling thread too
  std::lock_guard lock(mutex);
  if (wanted <= tbb::global_control::active_value(limit)) return;
  control = nullptr;
  control = std::make_unique<tbb::global_control>(limit, wanted);
}

}  // namespace

struct Scheduler::Arena {
  explicit Arena(int threads) : arena(threads, /*reserved_for_masters=*/0) {}
  tbb::task_arena arena;
};

int default_threads() { return std::max(1, tbb::info::default_concurrency() - 1); }

Scheduler::Scheduler(int threads) : threads_(threads) {
  require(threads >= 1, "threads: an input pipeline needs at least 1 thread, got ", threads);
  allow_threads(threads);
  arena_ = std::make_unique<Arena>(threads);
}

Scheduler::~Scheduler() = default;

void Scheduler::run(std::function<void()> task) {
  // oneTBB orders the two threads by itself, but in a library that ThreadSanitizer cannot see into;
  // this counter says the same where it can (tests/tsan.supp).
  static std::atomic<std::uint64_t> handed_over{0};
  auto* owned = new std::function<void()>(std::move(task));
  handed_over.fetch_add(1, std::memory_order_acq_rel);
  arena_->arena.enqueue([owned] {
    handed_over.load(std::memory_order_acquire);
    std::unique_ptr<std::function<void()>> task(owned);
    (*task)();
  });
}

}  // namespace belfry::data
