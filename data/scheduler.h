#pragma once
// The threads that parallel transforms run on. scheduler.cpp is the only file that knows oneTBB.

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string_view>

#include "belfry/data/budget.h"
#include "belfry/framework/base/units.h"

namespace belfry::data {

/// One thread fewer than the cores this process may use, and at least one: the core left over is
/// for the threads that compute, so that input and training do not fight.
int default_threads();

/// The most threads that anything may ask for. oneTBB starts no more in one process.
inline constexpr int most_threads = 256;

/// Error unless a process may have so many.
void require_threads(int count);

/// Error unless `workers`, an option of `what`, is a number of threads that there can be, or
/// `autotune`.
void require_workers(std::string_view what, int workers);

/// The resources that one input pipeline may use: threads (oneTBB's, which the process shares), and
/// memory for buffers that grow by themselves. Every stream has its own scheduler;
/// `data::threads(n)` gives the pipeline before it another. Thread rules: any thread may call it.
class Scheduler {
 public:
  /// 1 GiB.
  static constexpr Bytes default_memory = Bytes(std::int64_t{1} << 30);

  /// `limit` is what the program asked for; more threads than cores are honoured (work that waits
  /// for disks or networks gains from them) by raising oneTBB's limit for the process, unless the
  /// host has set one itself. So many tasks do run at once: what others run takes nothing from
  /// them. Where threads are short after all, schedulers take turns, task by task; that of a map
  /// lasts as long as there is work for it. Nothing: default_threads(), shared by all who do not
  /// say how many they want. Error: a limit below 1 or above most_threads.
  explicit Scheduler(std::optional<int> limit = {}, Bytes memory = default_memory);
  /// Other threads, and the memory that `other` has left, shared with it.
  Scheduler(std::optional<int> limit, const Scheduler& other);
  ~Scheduler();
  Scheduler(const Scheduler&) = delete;
  Scheduler& operator=(const Scheduler&) = delete;

  /// Threads for a transform that was told how many `workers` to use: as many of its own, unless
  /// there is a limit.
  static std::shared_ptr<Scheduler> for_workers(int workers, std::shared_ptr<Scheduler> scheduler);

  std::optional<int> limit() const { return limit_; }  ///< as asked for
  /// How many tasks may run at once: limit(), or else default_threads().
  int threads() const { return limit_.value_or(default_threads()); }
  Bytes memory() const { return memory_; }  ///< the whole budget, taken or not

  /// Takes memory out of the budget; false, and nothing taken, when so much is not left.
  bool reserve(Bytes size) { return left_->reserve(size.count); }
  void release(Bytes size) { left_->give_back(size.count); }  ///< gives back what was reserved

  /// Queues `task` and returns at once. The task must not throw. Tasks not begun when this object
  /// is destroyed are dropped; destruction does not wait for those in progress.
  void run(std::function<void()> task);

 private:
  struct Process;
  struct Threads;
  std::optional<int> limit_;
  Bytes memory_;
  std::shared_ptr<Budget> left_;  // of the memory
  std::shared_ptr<Threads> threads_;
};

}  // namespace belfry::data
