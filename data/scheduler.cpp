#include "belfry/data/scheduler.h"

#include <oneapi/tbb/global_control.h>
#include <oneapi/tbb/info.h>
#include <oneapi/tbb/task_arena.h>

#include <algorithm>
#include <optional>

#include "belfry/framework/base/error.h"

namespace belfry::data {

namespace tbb = oneapi::tbb;

struct Scheduler::Arena {
  explicit Arena(int threads) : arena(threads, /*reserved_for_masters=*/0) {
    // oneTBB counts the calling thread among its limit, and starts one worker fewer.
    auto wanted = static_cast<std::size_t>(threads) + 1;
    constexpr auto limit = tbb::global_control::max_allowed_parallelism;
    if (wanted > tbb::global_control::active_value(limit)) more.emplace(limit, wanted);
  }

  tbb::task_arena arena;
  std::optional<tbb::global_control> more;
};

int default_threads() { return std::max(1, tbb::info::default_concurrency() - 1); }

Scheduler::Scheduler(int threads) : threads_(threads) {
  require(threads >= 1, "threads: an input pipeline needs at least 1 thread, got ", threads);
  arena_ = std::make_unique<Arena>(threads);
}

Scheduler::~Scheduler() = default;

void Scheduler::run(std::function<void()> task) { arena_->arena.enqueue(std::move(task)); }

}  // namespace belfry::data
