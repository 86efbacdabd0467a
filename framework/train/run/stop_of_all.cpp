#include "belfry/framework/train/run/stop_of_all.h"

#include <system_error>

#include "belfry/framework/base/error.h"

namespace belfry {

StopOfAll::StopOfAll(Workers& workers, LinkedStop& stop) : workers_(workers), stop_(stop) {
  if (workers.count() == 1) return;
  work_ = workers.begin_work();
  on_stop_.emplace(stop.token(), [this] { workers_.ask_to_stop(work_); });
  try {
    thread_ = std::thread([this] { listen(); });
  } catch (const std::system_error& error) {
    fail("train: no thread could be started to hear other workers on: ", error.what());
  }
}

StopOfAll::~StopOfAll() {
  on_stop_.reset();
  if (!thread_.joinable()) return;
  {
    MutexLock lock(mutex_);
    over_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

void StopOfAll::listen() {
  constexpr std::chrono::milliseconds between(20);
  MutexLock lock(mutex_);
  while (!is_over_within(between) && !stop_.requested()) {
    lock.unlock();
    if (others_want_to()) stop_.request();
    lock.lock();
  }
}

bool StopOfAll::is_over_within(std::chrono::milliseconds time) {
  auto end = std::chrono::steady_clock::now() + time;
  while (!over_ && changed_.wait_until(mutex_, end)) {
  }
  return over_;
}

bool StopOfAll::others_want_to() noexcept {
  try {
    workers_.check();
    return workers_.is_asked_to_stop(work_);
  } catch (const std::exception&) {
    return true;  // they have failed; who waits for them next says how
  }
}

}  // namespace belfry
