#pragma once
// A training run, one step at a time, and the host's hand on it, from any thread.

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>

#include "belfry/framework/tensor/features.h"
#include "belfry/framework/train/hook.h"

namespace belfry {

/// How far training is.
struct TrainProgress {
  std::int64_t step = 0;  ///< finished steps
  double loss = 0;        ///< of the last one
  std::int64_t rows = 0;  ///< examples seen by this train() call
  bool running = false;   ///< from Estimator::start() until its hooks have ended
  bool paused = false;    ///< waits, because of TrainControl::pause()
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

  /// The first reason is the one reported.
  void request_stop(std::string reason = "the host asked for it");
  void request_save();  ///< writes a checkpoint after the running step, or while it is paused
  void pause();         ///< until resume() or a request to stop
  void resume();        ///< ends a pause
  TrainProgress progress() const;  ///< as of the last step whose result is there

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

class LockFile;
class Session;

/// Options of Estimator::train(), start() and plan().
struct TrainOptions {
  /// Total: training ends when global_step reaches it; nothing runs if it has already.
  std::optional<std::int64_t> max_steps = {};
  /// Incremental: at most so many steps in this call. With max_steps, whichever comes first.
  std::optional<std::int64_t> steps = {};
  Hooks hooks = {};                    ///< called before those of train() itself
  CheckpointListeners listeners = {};  ///< needs RunConfig::save_checkpoint
  TrainControl* control = nullptr;     ///< must outlive the call
  /// Ends training once stop is requested: after the running step, or while the input makes it
  /// wait.
  std::stop_token stop = {};
  /// Go on from the input position in the checkpoint. false: the input_fn's stream from its
  /// beginning.
  bool resume_input = true;
};

/// How a training went, or has gone so far.
struct TrainResult {
  std::int64_t global_step = 0;  ///< finished steps, those of earlier calls included
  double loss = 0;               ///< of the last step
  std::int64_t steps = 0;        ///< run by this call
  std::int64_t examples = 0;     ///< seen by this call
  double seconds = 0;            ///< in all
  /// Without the first step, which compiles, and without what hooks evaluate or sample between
  /// steps, and checkpoints that training waits for.
  double examples_per_second = 0;
  double input_wait_seconds = 0;        ///< waiting for batches
  StepTimes times;                      ///< summed over steps, the mean of the towers
  Outcome outcome = Outcome::finished;  ///< finished until something else ends it
  std::string reason;                   ///< when stopped
  int signal = 0;                       ///< SIGINT or SIGTERM, where that has stopped it
};

/// The training that train() runs; a host with a loop of its own drives it by step():
///
///   Training training = estimator.start(input_fn, {.max_steps = 1000});
///   while (training.step()) draw(training.result());
///   training.finish();
///
/// Used by one thread at a time, but for control(); its Estimator must outlive it. Between two
/// steps the same thread may evaluate, predict and export what has been learnt so far.
class Training {
 public:
  /// Estimator::start() calls it. `lock` is that of model_dir, kept until the training has ended.
  Training(Session& session, std::string model_dir, RunConfig config, const InputFn& input_fn,
           TrainOptions options, std::unique_ptr<LockFile> lock = {});
  Training(Training&&) noexcept;  ///< the other may then only be destroyed
  ~Training();                    ///< ends the hooks as stopped if finish() was not called

  /// Runs one step; false when there is none left to run. Error: after it the hooks have ended as
  /// failed, and step() is false.
  bool step();
  /// Runs all that are left. On a device that runs behind the host the next step is prepared while
  /// one is under way: see Hook::needs_result_now(). Error: as step().
  void run();
  /// Ends the hooks, which writes the last checkpoint, and says how it went. Later calls say it
  /// again.
  TrainResult finish();
  /// How it stands.
  const TrainResult& result() const;
  /// Stops, pauses, saves and watches it, from any thread: TrainOptions::control, or if there is
  /// none one of its own, which lives as long as the Training.
  TrainControl& control();

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace belfry
