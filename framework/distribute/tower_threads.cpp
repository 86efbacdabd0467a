#include "belfry/framework/distribute/tower_threads.h"

#include <utility>

namespace belfry {
namespace {

// Made without memory.
struct Unknown final : std::exception {
  const char* what() const noexcept override { return "an unknown exception"; }
};

}  // namespace

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
    MutexLock lock(mutex_);
    ending_ = true;
  }
  changed_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

void TowerThreads::loop(int tower) {
  for (long done = 0;;) {
    MutexLock lock(mutex_);
    while (!ending_ && round_ <= done) changed_.wait(mutex_);
    if (ending_) return;
    done = round_;
    const Work& work = *work_;
    const OnFailure& on_failure = *on_failure_;
    lock.unlock();
    work_on(tower, work, on_failure);
    lock.lock();
    if (--busy_ == 0) changed_.notify_all();
  }
}

void TowerThreads::work_on(int tower, const Work& work, const OnFailure& on_failure) {
  auto failed = [&](const std::exception& error) noexcept {
    {
      MutexLock lock(mutex_);
      if (!first_error_) first_error_ = std::current_exception();
    }
    try {
      on_failure(error);
    } catch (...) {  // the first failure is the one to tell of
    }
  };
  try {
    work(tower);
  } catch (const std::exception& error) {
    failed(error);
  } catch (...) {
    failed(Unknown());
  }
}

void TowerThreads::run(const Work& work, const OnFailure& on_failure) {
  if (threads_.empty()) return work(0);
  {
    MutexLock lock(mutex_);
    work_ = &work;
    on_failure_ = &on_failure;
    first_error_ = nullptr;
    busy_ = threads_.size();
    ++round_;
  }
  changed_.notify_all();
  work_on(0, work, on_failure);
  MutexLock lock(mutex_);
  while (busy_ > 0) changed_.wait(mutex_);
  if (first_error_) std::rethrow_exception(std::exchange(first_error_, nullptr));
}

}  // namespace belfry
