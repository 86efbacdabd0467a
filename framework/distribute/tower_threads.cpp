#include "belfry/framework/distribute/tower_threads.h"

#include "belfry/framework/base/error.h"

namespace belfry {

TowerThreads::TowerThreads(int towers) {
  try {
    for (int tower = 1; tower < towers; ++tower)
      threads_.emplace_back([this, tower] { loop(tower); });
  } catch (...) {  // the system has no more threads
    end();
    throw;
  }
}

TowerThreads::~TowerThreads() { end(); }

void TowerThreads::end() {
  {
    std::lock_guard lock(mutex_);
    ending_ = true;
  }
  changed_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

void TowerThreads::loop(int tower) {
  for (long done = 0;;) {
    {
      std::unique_lock lock(mutex_);
      changed_.wait(lock, [&] { return ending_ || round_ > done; });
      if (ending_) return;
      done = round_;
    }
    work_on(tower);
    std::lock_guard lock(mutex_);
    if (--busy_ == 0) changed_.notify_all();
  }
}

void TowerThreads::work_on(int tower) {
  auto failed = [&](const std::exception& error) {
    {
      std::lock_guard lock(mutex_);
      if (!first_error_) first_error_ = std::current_exception();
    }
    (*on_failure_)(error);
  };
  try {
    (*work_)(tower);
  } catch (const std::exception& error) {
    failed(error);
  } catch (...) {
    failed(Error("an unknown exception"));
  }
}

void TowerThreads::run(const std::function<void(int)>& work,
                       const std::function<void(const std::exception&)>& on_failure) {
  if (threads_.empty()) return work(0);
  {
    std::lock_guard lock(mutex_);
    work_ = &work;
    on_failure_ = &on_failure;
    first_error_ = nullptr;
    busy_ = static_cast<int>(threads_.size());
    ++round_;
  }
  changed_.notify_all();
  work_on(0);
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return busy_ == 0; });
  if (first_error_) std::rethrow_exception(std::exchange(first_error_, nullptr));
}

}  // namespace belfry
