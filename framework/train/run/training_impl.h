#pragma once
// The implementation of a Training. Internal to train/: training.cpp has its beginning and end,
// training_loop.cpp its steps.

#include <exception>
#include <memory>

#include "belfry/framework/train/hook.h"
#include "belfry/framework/train/run/checkpoint_writer.h"
#include "belfry/framework/train/run/hook_list.h"
#include "belfry/framework/train/run/outside_stop.h"
#include "belfry/framework/train/step/session.h"
#include "belfry/framework/train/training.h"

namespace belfry {

class Training::Impl final : HookContext {
 public:
  Impl(Session& s, std::string dir, RunConfig config, const InputFn& input_fn, TrainOptions o,
       std::unique_ptr<LockFile> lock);
  ~Impl();  // ends the hooks as stopped if finish() was not called

  // `behind`: the result may come with the next step's.
  bool step(bool behind);
  const TrainResult& finish();
  const TrainResult& result() const { return result_; }
  TrainControl& control() { return *options_.control; }

 private:
  enum class Stage : std::uint8_t {
    steps,
    over,   // no worker runs another step
    ended,  // so have the hooks
  };
  struct Speed {
    double start_seconds = 0;
    StepMeter meter = {};
    StepSums after_first_step = {};
  };

  // ---- HookContext
  std::int64_t step() const override { return session_->state()->step; }
  std::optional<std::int64_t> last_step() const override { return last_; }
  bool data_ended() const override { return data_ended_; }
  const RunConfig& config() const override { return config_; }
  const std::string& model_dir() const override { return checkpoints_.dir(); }
  Variables& variables() override { return session_->state()->variables(); }
  std::vector<InputStage> input_stages() const override { return input().stages(); }
  std::string plan() const override { return plan_; }
  bool is_chief() const override { return sync().is_chief(); }
  bool chief_decides(bool own) override { return sync().chief_decides(own); }
  double clock() const override { return sync().clock(); }
  std::stop_token stop() const override { return outside_.token(); }
  void request_stop(std::string reason) override;
  std::string save_checkpoint() override;
  void begin_checkpoint() override;

  StepInput& input() const { return driver_->input(); }
  WorkerSync& sync() const { return driver_->sync(); }

  // ---- beginning and end
  void begin();
  void restore_input();
  // For errors: where the state comes from that training goes on with.
  std::string origin(const char* entry) const;
  std::string input_position() const { return data_ended_ ? std::string() : input().position(); }
  // The checkpoint that would be written now, on the chief. Listeners are told.
  Checkpoint take_snapshot();
  std::exception_ptr hear_late_stop();
  std::exception_ptr end_hooks(Outcome outcome);
  std::exception_ptr end_listeners_too(Outcome outcome);
  void free_session();
  int signal_of_all();
  void log_end() const;
  // The other workers would wait for this one in vain.
  void announce_failure(const std::exception_ptr& error) noexcept;
  // A failure in between two steps costs none of the finished ones. Returns what went wrong here.
  std::exception_ptr leave_session();

  // ---- the loop
  bool run_step(bool behind);
  bool start_step();
  // All workers go on, or none.
  bool agree_to_go_on();
  // After a batch was read, or none: whether a stop has kept a worker from reading it. All put
  // theirs back then.
  bool stopped_reading();
  void end_steps();
  void end_of_data();
  // The first batch says what to compile, and so must come before the hooks begin. A checkpoint
  // that they write is one from before that batch. Data that an earlier training has read to their
  // end begin anew if a number of steps is asked for. Otherwise training to the end of the data is
  // done; the call after this one begins anew.
  bool prepare();
  void report(const DrivenStep& step);
  bool needs_result_now();
  // Alone, training saves right after the step, or here while it is paused.
  WorkerSync::Wishes wishes();
  void poll_outside();
  // The first step, which also compiles, is left out of the speed.
  void measure_speed(const StepResult& seen);

  std::shared_ptr<Session> session_;  // the estimator may leave it for another
  RunConfig config_;
  TrainControl own_control_;  // when the user has none
  TrainOptions options_;      // with a control
  OutsideStop outside_;       // before the input, which may wait while it opens
  std::optional<std::int64_t> last_;
  HookList hooks_;
  std::unique_ptr<StepDriver> driver_;
  CheckpointWriter checkpoints_;
  TrainResult result_;
  Speed speed_;
  std::string plan_;
  Stage stage_ = Stage::steps;
  bool stopping_ = false, data_ended_ = false;
};

}  // namespace belfry
