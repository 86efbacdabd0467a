#include "belfry/framework/train/train_control.h"

#include <chrono>
#include <utility>

namespace belfry {

void TrainControl::request_stop(std::string reason) {
  {
    std::lock_guard lock(mutex_);
    if (!std::exchange(asked_to_stop_, true)) reason_ = std::move(reason);
    changed_.notify_all();
  }
  stop_.request_stop();
}

void TrainControl::request_save() {
  std::lock_guard lock(mutex_);
  save_ = true;
  changed_.notify_all();
}

void TrainControl::pause() {
  std::lock_guard lock(mutex_);
  pause_ = true;
}

void TrainControl::resume() {
  std::lock_guard lock(mutex_);
  pause_ = false;
  changed_.notify_all();
}

TrainProgress TrainControl::progress() const {
  std::lock_guard lock(mutex_);
  return progress_;
}

void TrainControl::begin(std::int64_t step) {
  std::lock_guard lock(mutex_);
  progress_ = {.step = step, .running = true};
}

void TrainControl::report(std::int64_t step, double loss, std::int64_t rows) {
  std::lock_guard lock(mutex_);
  progress_.step = step;
  progress_.loss = loss;
  progress_.rows += rows;
}

void TrainControl::finish() {
  std::lock_guard lock(mutex_);
  progress_.running = progress_.paused = false;
}

bool TrainControl::take_save_request() {
  std::lock_guard lock(mutex_);
  return std::exchange(save_, false);
}

void TrainControl::wait_while_paused(const std::function<bool()>& interrupted) {
  std::unique_lock lock(mutex_);
  progress_.paused = pause_;
  while (pause_ && !asked_to_stop_ && !save_ && !interrupted())
    changed_.wait_for(lock, std::chrono::milliseconds(50));
  progress_.paused = pause_ && save_ && !asked_to_stop_;  // the pause goes on after that
}

bool TrainControl::stop_requested(std::string& reason) const {
  std::lock_guard lock(mutex_);
  if (asked_to_stop_) reason = reason_;
  return asked_to_stop_;
}

bool TrainControl::pause_requested() const {
  std::lock_guard lock(mutex_);
  return pause_;
}

void TrainControl::show_paused(bool paused) {
  std::lock_guard lock(mutex_);
  progress_.paused = paused;
}

}  // namespace belfry
