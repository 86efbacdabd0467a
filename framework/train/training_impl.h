#pragma once
// The implementation of a Training. Internal to train/: training.cpp has its beginning and end,
// training_loop.cpp its steps.

#include <exception>
#include <future>
#include <memory>

#include "belfry/framework/base/lock_file.h"
#include "belfry/framework/train/hook_list.h"
#include "belfry/framework/train/outside_stop.h"
#include "belfry/framework/train/replicas.h"
#include "belfry/framework/train/session.h"
#include "belfry/framework/train/step_input.h"
#include "belfry/framework/train/step_sums.h"
#include "belfry/framework/train/training.h"
#include "belfry/framework/train/worker_sync.h"

namespace belfry {

struct Training::Impl final : HookContext {
  Impl(Session& s, std::string dir, RunConfig c, const InputFn& fn, TrainOptions o,
       std::unique_ptr<LockFile> l);

  void begin();

  // The user's or its own: `options.control` is never null.
  TrainOptions with_control(TrainOptions o);

  InputContext input_context() const;

  bool reads_alone() const { return sync.alone() || config_.batch == BatchPolicy::global; }

  void restore_input();

  // For errors: where the state comes from that training goes on with.
  std::string origin(const char* entry) const;

  // ---- HookContext
  std::int64_t step() const override { return session.step(); }
  std::optional<std::int64_t> last_step() const override { return last; }
  bool data_ended() const override { return data_ended_; }
  const RunConfig& config() const override { return config_; }
  const std::string& model_dir() const override { return dir_; }
  Variables& variables() override { return session.variables(); }
  std::vector<InputStage> input_stages() const override { return input.stages(); }
  std::string plan() const override { return plan_; }
  bool is_chief() const override { return sync.is_chief(); }
  bool chief_decides(bool own) override { return sync.chief_decides(own); }
  double clock() const override { return sync.clock(); }
  std::stop_token stop() const override { return outside.token(); }
  void request_stop(std::string reason) override;
  std::string save_checkpoint() override;
  void begin_checkpoint() override;

  std::string input_position() const { return data_ended_ ? std::string() : input.position(); }

  // ---- checkpoints
  // The checkpoint that would be written now, on the chief. Listeners are told.
  Checkpoint take_snapshot();

  void checkpoint_written(const std::string& path);

  // On the chief, as all that listeners hear.
  void begin_listeners();
  void end_listeners(Outcome outcome);

  // Tells of the checkpoint that is being written in the background, if any, when it is durable;
  // or, with `wait`, waits until it is. Error: it could not be written, or a listener's.
  void finish_writing(bool wait);

  // The same at the end of training, which waits and returns the error. After a failure nobody is
  // told of another one, so it is logged.
  std::exception_ptr end_writing(Outcome outcome);

  // ---- the loop
  // A sub-step that was started and whose results have not been taken.
  struct Part {
    const Replicas::Started* towers = nullptr;
    const Model* model = nullptr;  // of the first
    std::uint64_t chosen = 0;
  };

  // A step that was started and whose result no hook has seen.
  struct Started {
    Part last = {};  // sub-step; the others have come to their end
    std::int64_t step = 0, rows = 0;
    std::uint64_t chosen = 0, applied = 0;
    StepTimes times = {};
    bool traced = false, begun = false;
    bool summaries = false;                // asked for ...
    std::vector<SummaryValue> shown = {};  // ... and taken
    double waited = 0, began = 0;
  };

  // `behind`: the result may come with the next step's.
  bool run_step(bool behind);

  bool needs_result_now();

  // Reports the step that was started last, if it has not been.
  void settle();

  // A step that was finished before something failed is one that counts.
  void settle_after_failure();

  bool start_step();

  // Runs the sub-steps; none when the data are at their end.
  bool start_round(Started next);

  // One sub-step, as share_out() left it. As soon as the first of a step is under way, the step
  // before is settled.
  void start_part(Started& step, std::uint64_t chosen, int number, bool last);

  // Before a sub-step, as share_out() left it: computes the summaries for it.
  void take_summaries(Started& step, int number);

  // Waits for the end of a sub-step, unless that has been done.
  void take_results(Started& step, Part& part);

  // All workers go on, or none.
  bool agree_to_go_on();

  // After a batch was read, or none: whether a stop has kept a worker from reading it. All put
  // theirs back then.
  bool stopped_reading();

  // Gives the towers their rows of a set; false when no worker has any.
  bool share_out(bool any, std::uint64_t chosen, int set = 0);

  // Other workers still have rows.
  void take_nothing();

  void end_of_data();

  // The first batch says what to compile, and so must come before the hooks begin. A checkpoint
  // that they write is one from before that batch. Data that an earlier training has read to their
  // end begin anew if a number of steps is asked for. Otherwise training to the end of the data is
  // done; the call after this one begins anew.
  bool prepare();

  // For the first batch, when all is compiled.
  std::string describe() const;

  void report(const Started& step);

  // Alone, training saves right after the step, or here while it is paused.
  WorkerSync::Wishes wishes();

  void poll_outside();

  // Nobody is to hear of the stop any more: what is asked for from now on is for the end.
  void heed_stop();

  // Others may use the session while body() waits for something. A step that is under way does not
  // matter to them: what they ask of a device comes after it.
  template <class Body>
  auto waiting(Body body) {
    auto others = session.turns().let_others();
    return body();
  }

  std::exception_ptr hear_late_stop();

  std::exception_ptr end_hooks(Outcome outcome);

  // The other workers would wait for this one in vain.
  void announce_failure(const std::exception_ptr& error);

  // A failure in between two steps costs none of the finished ones. Returns what went wrong here.
  std::exception_ptr leave_session();

  // The first step, which also compiles, is left out of the speed.
  void measure_speed(const StepResult& seen);

  std::unique_ptr<LockFile> lock;  // of dir_; null: nothing is written there
  std::shared_ptr<Session> alive;  // the estimator may leave it for another; null: a test's own
  Session& session;
  std::string dir_;
  RunConfig config_;
  TrainControl own_control;  // when the user has none
  TrainOptions options;
  WorkerSync sync;
  OutsideStop outside;  // before the input, which may wait while it opens
  StepInput input;
  std::optional<std::int64_t> last;
  HookList hooks;
  Replicas replicas;
  bool begun_hooks = false;
  std::size_t listening = 0;                           // listeners that have begun and not ended
  std::vector<SubStep> round;                          // of each step, from the first model
  std::vector<std::pair<std::string, double>> values;  // EstimatorSpec::values
  std::vector<TraceEntry> trace;                       // of the step that is reported
  TrainResult result;
  bool stopping = false, data_ended_ = false, ended = false;
  bool over = false;        // no worker runs another step
  int steps_under_way = 0;  // the variables may be those of no step, or not be judged yet
  std::optional<Started> started;
  std::future<std::string> writing;  // a checkpoint, in the background
  std::string plan_;
  std::int64_t running_step = 0;
  double start_seconds = 0;
  StepMeter meter;
  StepSums after_first_step;
};

}  // namespace belfry
