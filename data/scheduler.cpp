#include "belfry/data/scheduler.h"

#include <oneapi/tbb/global_control.h>
#include <oneapi/tbb/info.h>
#include <oneapi/tbb/task_arena.h>

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <list>
#include <map>
#include <utility>
#include <vector>

#include "belfry/data/transforms/transforms.h"
#include "belfry/framework/base/error.h"
#include "belfry/framework/base/mutex.h"

namespace belfry::data {

namespace tbb = oneapi::tbb;

namespace {

// This mutex guards all that follows. It is never destroyed: oneTBB's threads may outlive every
// static object.
Mutex& process_mutex() {
  static auto* mutex = new Mutex;
  return *mutex;
}

}  // namespace

// oneTBB's threads, and who asks for one.
//
// oneTBB promises an arena no thread beyond the first: those that are busy in an arena where
// nothing waits any more count against what the other arenas ask for. So new work goes to one
// arena, as wide as everything that may run at once. What waits in an older one may wait long:
// hence nobody's work belongs to an arena, and each of their threads serves whoever is next.
struct Scheduler::Process {
  static Process& instance() {
    static auto* out = new Process;  // never destroyed, like the mutex
    return *out;
  }

  // oneTBB starts no more threads than the process has cores unless told to. The limit belongs to
  // the process and the lowest one asked for counts, so there is one request here, for all that was
  // ever claimed `beyond` them at once; a lower limit set by the host stays in force.
  void claim(int more, int more_beyond) BELFRY_REQUIRES(process_mutex()) {
    threads += more;
    beyond += more_beyond;
    int wanted = std::min(tbb::info::default_concurrency() + beyond, most_threads);
    if (wanted > allowed) {
      allowed = wanted;
      control = std::make_unique<tbb::global_control>(
          tbb::global_control::max_allowed_parallelism,
          static_cast<std::size_t>(allowed) + 1);  // it counts a calling thread too
    }
  }

  void give_up(int fewer, int fewer_beyond) BELFRY_REQUIRES(process_mutex()) {
    threads -= fewer;
    beyond -= fewer_beyond;
  }

  // Asks for nothing where it throws.
  void ask(std::shared_ptr<Threads> who) BELFRY_REQUIRES(process_mutex()) {
    asking.push_back(std::move(who));
    try {
      call_threads();
    } catch (...) {
      asking.pop_back();
      throw;
    }
  }

  // How many it had asked for. The threads that were called for them come and find nothing.
  int take_back(const Threads* who) BELFRY_REQUIRES(process_mutex()) {
    return std::erase_if(asking, [&](auto& each) { return each.get() == who; });
  }

 private:
  struct Arena {
    explicit Arena(int width) : threads(width, /*reserved_for_masters=*/0) {}
    tbb::task_arena threads;
    std::size_t called BELFRY_GUARDED_BY(process_mutex()) = 0;  // threads that have yet to come
  };

  // One for each that asks, to the arena of the width of now.
  void call_threads() BELFRY_REQUIRES(process_mutex()) {
    int width = std::min(threads, most_threads);
    auto& arena = arenas[width];
    if (!arena) arena = std::make_unique<Arena>(width);
    for (; arena->called < asking.size(); ++arena->called)
      arena->threads.enqueue([arena = arena.get()] { instance().work(arena); });
  }

  void work(Arena* arena);

  // Once for each thread that they need now.
  std::list<std::shared_ptr<Threads>> asking BELFRY_GUARDED_BY(process_mutex());
  // By width, and never destroyed: what one leaves waiting when it goes is never freed.
  std::map<int, std::unique_ptr<Arena>> arenas BELFRY_GUARDED_BY(process_mutex());
  std::unique_ptr<tbb::global_control> control BELFRY_GUARDED_BY(process_mutex());
  int threads BELFRY_GUARDED_BY(process_mutex()) = 0;
  int beyond BELFRY_GUARDED_BY(process_mutex()) = 0;
  int allowed BELFRY_GUARDED_BY(process_mutex()) = 0;
};

// So many threads, and the tasks that wait for them.
struct Scheduler::Threads : std::enable_shared_from_this<Scheduler::Threads> {
  Threads(int count, int beyond) : count_(count), beyond_(beyond) {}
  ~Threads() {
    MutexLock lock(process_mutex());
    if (claimed_) process_.give_up(count_, beyond_);
  }

  // The threads that schedulers without a limit share; a scheduler with one has its own.
  static std::shared_ptr<Threads> of_all() {
    static auto* mutex = new Mutex;  // never destroyed, as above
    static auto* shared BELFRY_PT_GUARDED_BY(mutex) = new std::weak_ptr<Threads>;
    MutexLock lock(*mutex);
    auto out = shared->lock();
    if (!out) *shared = out = std::make_shared<Threads>(default_threads(), /*beyond=*/0);
    return out;
  }

  void run(const Scheduler* scheduler, std::function<void()> task) {
    std::list<Waiting> one;  // it goes without the lock where no thread can be asked for
    one.emplace_back(scheduler, std::move(task));
    MutexLock lock(process_mutex());
    if (running_ < count_) {
      if (!claimed_) process_.claim(count_, beyond_);
      claimed_ = true;
      process_.ask(shared_from_this());
      ++running_;
    }
    waiting_.splice(waiting_.end(), one);
  }

  void drop(const Scheduler* scheduler) {
    std::list<Waiting> dropped;  // their destructors run without the lock
    MutexLock lock(process_mutex());
    for (auto each = waiting_.begin(); each != waiting_.end();) {
      auto next = std::next(each);
      // Needs no memory: schedulers go in destructors.
      if (each->first == scheduler) dropped.splice(dropped.end(), waiting_, each);
      each = next;
    }
    // Where no thread is free, what asks for one would keep this object, and its claim, for long.
    if (waiting_.empty()) running_ -= process_.take_back(this);
  }

  // Runs the next task without the lock. False: nothing waits any more, and the thread is free.
  bool run_next() BELFRY_REQUIRES(process_mutex()) {
    if (!waiting_.empty()) {
      auto first = std::move(waiting_.front().second);
      waiting_.pop_front();
      MutexUnlock meanwhile(process_mutex());
      // It goes before the lock is taken again: its destructor may run another pipeline's.
      auto task = std::move(first);
      task();
    }
    if (waiting_.empty()) --running_;
    return !waiting_.empty();
  }

 private:
  using Waiting = std::pair<const Scheduler*, std::function<void()>>;

  Process& process_ = Process::instance();
  const int count_, beyond_;  // of them, beyond the cores
  std::list<Waiting> waiting_ BELFRY_GUARDED_BY(process_mutex());
  int running_ BELFRY_GUARDED_BY(process_mutex()) = 0;  // that run a task or are asked for
  bool claimed_ BELFRY_GUARDED_BY(process_mutex()) = false;
};

// One task of each in turn, so that none keeps a thread from the others where threads are short.
void Scheduler::Process::work(Arena* arena) {
  // It goes without the lock, which its destructor takes. A list needs no memory to take and give
  // back, and oneTBB's threads could tell nobody that there is none.
  std::list<std::shared_ptr<Threads>> next;
  MutexLock lock(process_mutex());
  --arena->called;
  while (!asking.empty()) {
    next.splice(next.end(), asking, asking.begin());
    if (next.front()->run_next()) {
      asking.splice(asking.end(), next);
    } else {
      lock.unlock();
      next.clear();
      lock.lock();
    }
  }
}

int default_threads() { return std::clamp(tbb::info::default_concurrency() - 1, 1, most_threads); }

void require_threads(int count) {
  require(count >= 1, "threads: an input pipeline needs at least 1 thread, got ", count);
  require(count <= most_threads, "threads: a process has at most ", most_threads,
          " threads for input, got ", count);
}

void require_workers(std::string_view what, int workers) {
  require(workers >= 1 || workers == autotune, what,
          ": workers must be at least 1, or data::autotune; got ", workers);
  require(workers <= most_threads, what, ": workers must be at most ", most_threads, ", got ",
          workers, "; each is a thread. To read further ahead, put prefetch(n) behind it");
}

Scheduler::Scheduler(std::optional<int> limit, Bytes memory)
    : limit_(limit), memory_(memory), left_(std::make_shared<Budget>(memory.count)) {
  require_threads(threads());
  threads_ = limit_ ? std::make_shared<Threads>(*limit_, *limit_) : Threads::of_all();
}

Scheduler::Scheduler(std::optional<int> limit, const Scheduler& other)
    : Scheduler(limit, other.memory_) {
  left_ = other.left_;
}

Scheduler::~Scheduler() { threads_->drop(this); }

std::shared_ptr<Scheduler> Scheduler::for_workers(int workers,
                                                  std::shared_ptr<Scheduler> scheduler) {
  if (scheduler->limit()) return scheduler;
  return std::make_shared<Scheduler>(workers, *scheduler);
}

void Scheduler::run(std::function<void()> task) { threads_->run(this, std::move(task)); }

}  // namespace belfry::data
