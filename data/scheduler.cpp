#include "belfry/data/scheduler.h"

#include <oneapi/tbb/global_control.h>
#include <oneapi/tbb/info.h>
#include <oneapi/tbb/task_arena.h>

#include <algorithm>
#include <cstdint>
#include <deque>
#include <map>
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

// Work that waits, by the number of its scheduler. A oneTBB task carries that number and nothing
// else: an arena may go before its tasks have run, and what they hold would then never be released.
struct Queues {
  std::mutex mutex;
  // Guarded by mutex:
  std::map<std::uint64_t, std::deque<std::function<void()>>> waiting;
  std::uint64_t last = 0;
};

Queues& queues() {
  static auto* out = new Queues;  // oneTBB's threads may outlive every static object
  return *out;
}

void run_one(std::uint64_t scheduler) {
  std::function<void()> task;
  {
    std::lock_guard lock(queues().mutex);
    auto queue = queues().waiting.find(scheduler);
    if (queue == queues().waiting.end() || queue->second.empty()) return;
    task = std::move(queue->second.front());
    queue->second.pop_front();
  }
  task();
}

}  // namespace

struct Scheduler::Arena {
  explicit Arena(int threads) : arena(threads, /*reserved_for_masters=*/0) {
    std::lock_guard lock(queues().mutex);
    number = ++queues().last;
    queues().waiting[number];
  }
  ~Arena() {
    std::unique_lock lock(queues().mutex);
    auto dropped = queues().waiting.extract(number);
    lock.unlock();  // before the tasks' destructors run
  }

  tbb::task_arena arena;
  std::uint64_t number = 0;
};

int default_threads() { return std::max(1, tbb::info::default_concurrency() - 1); }

Scheduler::Scheduler(int threads, Bytes memory)
    : threads_(threads), memory_(memory), left_(std::make_shared<Budget>(memory.count)) {
  require(threads >= 1, "threads: an input pipeline needs at least 1 thread, got ", threads);
  allow_threads(threads);
  arena_ = std::make_unique<Arena>(threads);
}

Scheduler::Scheduler(int threads, const Scheduler& other) : Scheduler(threads, other.memory_) {
  left_ = other.left_;
}

Scheduler::~Scheduler() = default;

void Scheduler::run(std::function<void()> task) {
  std::uint64_t number = arena_->number;
  {
    std::lock_guard lock(queues().mutex);
    queues().waiting[number].push_back(std::move(task));
  }
  arena_->arena.enqueue([number] { run_one(number); });
}

}  // namespace belfry::data
