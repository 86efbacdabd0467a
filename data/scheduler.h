#pragma once
// The threads that parallel transforms run on. scheduler.cpp is the only file that knows oneTBB.

#include <functional>
#include <memory>

namespace belfry::data {

/// One thread fewer than the cores this process may use, and at least one: the core left over is
/// for the threads that compute, so that input and training do not fight.
int default_threads();

/// A oneTBB arena: a bound on how many threads work for one input pipeline. The threads themselves
/// are oneTBB's and shared by the process. Every stream has its own scheduler; `data::threads(n)`
/// gives the pipeline before it another. Thread rules: run() may be called from any thread.
class Scheduler {
 public:
  /// Error: threads below 1. More threads than cores are honoured (work that waits for disks or
  /// networks gains from them) by raising oneTBB's limit for the process, unless the host has set
  /// one itself.
  explicit Scheduler(int threads = default_threads());
  ~Scheduler();
  Scheduler(const Scheduler&) = delete;
  Scheduler& operator=(const Scheduler&) = delete;

  int threads() const { return threads_; }

  /// Queues `task` and returns at once. The task must not throw. Tasks not begun when this object
  /// is destroyed are dropped; destruction does not wait for those in progress.
  void run(std::function<void()> task);

 private:
  struct Arena;
  int threads_;
  std::unique_ptr<Arena> arena_;
};

}  // namespace belfry::data
