#pragma once
// Runs the towers of a process side by side.

#include <exception>
#include <functional>
#include <thread>
#include <vector>

#include "belfry/framework/base/mutex.h"

namespace belfry {

/// A thread for each tower (or each device of each tower) but the first, whose work the caller's
/// thread does: what a thread keeps for itself (the thread team of CPU kernels, a GPU's current
/// device) stays with its tower. Used by one thread at a time.
class TowerThreads {
 public:
  explicit TowerThreads(int towers);
  ~TowerThreads();
  TowerThreads(const TowerThreads&) = delete;
  TowerThreads& operator=(const TowerThreads&) = delete;

  using Work = std::function<void(int tower)>;
  using OnFailure = std::function<void(const std::exception&)>;

  int towers() const { return static_cast<int>(threads_.size()) + 1; }

  /// Calls work(tower) for every tower at once and waits for all. When one throws, on_failure is
  /// called with what it threw, from its thread, so that others do not wait for it; run() throws
  /// what was thrown first. What on_failure throws is lost.
  void run(const Work& work, const OnFailure& on_failure);

 private:
  void loop(int tower);
  void end();
  void work_on(int tower, const Work& work, const OnFailure& on_failure);

  std::vector<std::thread> threads_;
  Mutex mutex_;
  Condition changed_;
  const Work* work_ BELFRY_GUARDED_BY(mutex_) = nullptr;
  const OnFailure* on_failure_ BELFRY_GUARDED_BY(mutex_) = nullptr;
  long round_ BELFRY_GUARDED_BY(mutex_) = 0;
  int busy_ BELFRY_GUARDED_BY(mutex_) = 0;
  bool ending_ BELFRY_GUARDED_BY(mutex_) = false;
  std::exception_ptr first_error_ BELFRY_GUARDED_BY(mutex_);
};

}  // namespace belfry
