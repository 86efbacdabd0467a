#pragma once
// The host's hand on a running train(), from any thread.

#include <cstdint>
#include <functional>
#include <memory>
#include <stop_token>
#include <string>

namespace belfry {

/// How far training is.
struct TrainProgress {
  std::int64_t step = 0;  ///< finished steps
  double loss = 0;        ///< of the last one
  std::int64_t rows = 0;  ///< examples seen by this train() call
  bool running = false;
  bool paused = false;
};

/// Handed to train() by pointer, it stops, pauses and watches it. Every function may be called from
/// any thread, before, during and after training. Each takes effect between two steps; a request to
/// stop takes effect also while training waits for its input, or evaluates. That request stays, so
/// the next train() call needs another TrainControl. In a job of several workers, what one worker
/// is asked for all of them do.
class TrainControl {
 public:
  TrainControl();
  TrainControl(const TrainControl&) = delete;
  TrainControl& operator=(const TrainControl&) = delete;
  ~TrainControl();

  void request_stop(std::string reason = "the host asked for it");
  void request_save();  ///< writes a checkpoint after the running step, or while it is paused
  void pause();
  void resume();
  TrainProgress progress() const;

 private:
  friend class Training;
  friend class OutsideStop;
  void begin(std::int64_t step);
  void report(std::int64_t step, double loss, std::int64_t rows);
  void finish();
  bool take_save_request();
  /// Waits while paused and neither a stop nor a save is asked for, nor `interrupted`, which is
  /// asked now and then.
  void wait_while_paused(const std::function<bool()>& interrupted);
  /// Stop is requested when request_stop() was called.
  std::stop_token stop() const { return stop_.get_token(); }
  /// Whether it is, with its reason.
  bool stop_requested(std::string& reason) const;
  bool pause_requested() const;
  void show_paused(bool paused);

  struct State;
  std::unique_ptr<State> state_;
  std::stop_source stop_;  // requested without the lock: callbacks run then
};

}  // namespace belfry
