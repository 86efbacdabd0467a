#include "belfry/framework/train/train_control.h"

#include <chrono>
#include <utility>

namespace belfry {

void TrainControl::request_stop(std::string reason) {
  {
    MutexLock lock(mutex_);
    if (!std::exchange(asked_to_stop_, true)) reason_ = std::move(reason);
    changed_.notify_all();
  }
  stop_.request_stop();
}

void TrainControl::request_save() {
  MutexLock lock(mutex_);
  save_ = true;
  changed_.notify_all();
}

void TrainControl::pause() {
  MutexLock lock(mutex_);
  pause_ = true;
}

void TrainControl::resume() {
  MutexLock lock(mutex_);
  pause_ = false;
  changed_.notify_all();
}

TrainProgress TrainControl::progress() const {
  MutexLock lock(mutex_);
  return progress_;
}

void TrainControl::begin(std::int64_t step) {
  MutexLock lock(mutex_);
  progress_ = {.step = step, .running = true};
}

void TrainControl::report(std::int64_t step, double loss, std::int64_t rows) {
  MutexLock lock(mutex_);
  progress_.step = step;
  progress_.loss = loss;
  progress_.rows += rows;
}

void TrainControl::finish() {
  MutexLock lock(mutex_);
  progress_.running = progress_.paused = false;
}

bool TrainControl::take_save_request() {
  MutexLock lock(mutex_);
  return std::exchange(save_, false);
}

void TrainControl::wait_while_paused(const std::function<bool()>& interrupted) {
  MutexLock lock(mutex_);
  progress_.paused = pause_;
  while (pause_ && !asked_to_stop_ && !save_ && !interrupted())
    changed_.wait_until(mutex_, std::chrono::steady_clock::now() + std::chrono::milliseconds(50));
  progress_.paused = pause_ && save_ && !asked_to_stop_;  // the pause goes on after that
}

bool TrainControl::stop_requested(std::string& reason) const {
  MutexLock lock(mutex_);
  if (asked_to_stop_) reason = reason_;
  return asked_to_stop_;
}

bool TrainControl::pause_requested() const {
  MutexLock lock(mutex_);
  return pause_;
}

void TrainControl::show_paused(bool paused) {
  MutexLock lock(mutex_);
  progress_.paused = paused;
}

}  // namespace belfry
