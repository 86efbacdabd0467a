#pragma once
// Runs the towers of a process side by side.

#include <condition_variable>
#include <exception>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace belfry {

/// A thread for each tower (or each slot of each tower) but the first, whose work the caller's
/// thread does: what a thread keeps for itself (the thread team of CPU kernels, a GPU's current
/// device) stays with its tower. Used by one thread at a time.
class TowerThreads {
 public:
  explicit TowerThreads(int towers);
  ~TowerThreads();
  TowerThreads(const TowerThreads&) = delete;
  TowerThreads& operator=(const TowerThreads&) = delete;

  int towers() const { return static_cast<int>(threads_.size()) + 1; }

  /// Calls work(tower) for every tower at once and waits for all. When one throws, on_failure is
  /// called with what it threw, from its thread, so that others do not wait for it; run() throws
  /// what was thrown first.
  void run(const std::function<void(int tower)>& work,
           const std::function<void(const std::exception&)>& on_failure);

 private:
  void loop(int tower);
  void end();
  void work_on(int tower);

  std::vector<std::thread> threads_;
  std::mutex mutex_;  // guards all below
  std::condition_variable changed_;
  const std::function<void(int)>* work_ = nullptr;
  const std::function<void(const std::exception&)>* on_failure_ = nullptr;
  long round_ = 0;
  int busy_ = 0;
  bool ending_ = false;
  std::exception_ptr first_error_;
};

}  // namespace belfry
