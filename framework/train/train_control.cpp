#include <chrono>
#include <utility>

#include "belfry/framework/base/mutex.h"
#include "belfry/framework/train/training.h"

namespace belfry {

struct TrainControl::State {
  Mutex mutex;
  Condition changed;
  TrainProgress progress BELFRY_GUARDED_BY(mutex);
  bool asked_to_stop BELFRY_GUARDED_BY(mutex) = false;
  bool save BELFRY_GUARDED_BY(mutex) = false;
  bool pause BELFRY_GUARDED_BY(mutex) = false;
  std::string reason BELFRY_GUARDED_BY(mutex);  // of the first request to stop
};

TrainControl::TrainControl() : state_(std::make_unique<State>()) {}
TrainControl::~TrainControl() = default;

void TrainControl::request_stop(std::string reason) {
  {
    State& s = *state_;
    MutexLock lock(s.mutex);
    if (!std::exchange(s.asked_to_stop, true)) s.reason = std::move(reason);
    s.changed.notify_all();
  }
  stop_.request_stop();
}

void TrainControl::request_save() {
  State& s = *state_;
  MutexLock lock(s.mutex);
  s.save = true;
  s.changed.notify_all();
}

void TrainControl::pause() {
  State& s = *state_;
  MutexLock lock(s.mutex);
  s.pause = true;
}

void TrainControl::resume() {
  State& s = *state_;
  MutexLock lock(s.mutex);
  s.pause = false;
  s.changed.notify_all();
}

TrainProgress TrainControl::progress() const {
  State& s = *state_;
  MutexLock lock(s.mutex);
  return s.progress;
}

void TrainControl::begin(std::int64_t step) {
  State& s = *state_;
  MutexLock lock(s.mutex);
  s.progress = {.step = step, .running = true};
}

void TrainControl::report(std::int64_t step, double loss, std::int64_t rows) {
  State& s = *state_;
  MutexLock lock(s.mutex);
  s.progress.step = step;
  s.progress.loss = loss;
  s.progress.rows += rows;
}

void TrainControl::finish() {
  State& s = *state_;
  MutexLock lock(s.mutex);
  s.progress.running = s.progress.paused = false;
}

bool TrainControl::take_save_request() {
  State& s = *state_;
  MutexLock lock(s.mutex);
  return std::exchange(s.save, false);
}

void TrainControl::wait_while_paused(const std::function<bool()>& interrupted) {
  State& s = *state_;
  MutexLock lock(s.mutex);
  s.progress.paused = s.pause;
  while (s.pause && !s.asked_to_stop && !s.save && !interrupted())
    s.changed.wait_until(s.mutex, std::chrono::steady_clock::now() + std::chrono::milliseconds(50));
  s.progress.paused = s.pause && s.save && !s.asked_to_stop;  // the pause goes on after that
}

bool TrainControl::stop_requested(std::string& reason) const {
  State& s = *state_;
  MutexLock lock(s.mutex);
  if (s.asked_to_stop) reason = s.reason;
  return s.asked_to_stop;
}

bool TrainControl::pause_requested() const {
  State& s = *state_;
  MutexLock lock(s.mutex);
  return s.pause;
}

void TrainControl::show_paused(bool paused) {
  State& s = *state_;
  MutexLock lock(s.mutex);
  s.progress.paused = paused;
}

}  // namespace belfry
