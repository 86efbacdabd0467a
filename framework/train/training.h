#pragma once
// A training run, one step at a time.

#include <cstdint>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>

#include "belfry/framework/tensor/input_stream.h"
#include "belfry/framework/train/hook.h"
#include "belfry/framework/train/train_control.h"

namespace belfry {

class LockFile;
class Session;

struct TrainOptions {
  /// Total: training ends when global_step reaches it; nothing runs if it has already.
  std::optional<std::int64_t> max_steps = {};
  /// Incremental: at most so many steps in this call. With max_steps, whichever comes first.
  std::optional<std::int64_t> steps = {};
  Hooks hooks = {};
  CheckpointListeners listeners = {};
  TrainControl* control = nullptr;  ///< must outlive the call
  /// Ends training once stop is requested: after the running step, or while the input makes it
  /// wait.
  std::stop_token stop = {};
  /// Go on from the input position in the checkpoint. false: the input_fn's stream from its
  /// beginning.
  bool resume_input = true;
};

struct TrainResult {
  std::int64_t global_step = 0;
  double loss = 0;            ///< of the last step
  std::int64_t steps = 0;     ///< run by this call
  std::int64_t examples = 0;  ///< seen by this call
  double seconds = 0;         ///< in all
  /// Without the first step, which compiles, and without what hooks evaluate or sample between
  /// steps.
  double examples_per_second = 0;
  double input_wait_seconds = 0;
  StepTimes times;  ///< summed over steps, the mean of the towers
  Outcome outcome = Outcome::finished;
  std::string reason;  ///< when stopped
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
  Training(Session& session, std::string model_dir, RunConfig config, const InputFn& input_fn,
           TrainOptions options, std::unique_ptr<LockFile> lock = {});
  Training(Training&&) noexcept;
  ~Training();  ///< ends the hooks as stopped if finish() was not called

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
