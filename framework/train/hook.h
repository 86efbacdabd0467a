#pragma once
// Hooks: what happens around a training step. The order, for hooks in list order:
//
//   restore the newest checkpoint, or initialise; read the first batch
//   build the step for it, for each of its updates:
//     gradients of each tower, weighted by its rows, added over its micro-batches
//     for h in hooks:                        h.on_tower_gradients(stage)
//     average over towers; in f16 divide by the loss scale
//     for h in hooks:                        h.on_gradients(stage)
//     apply
//     for h in hooks:                        h.after_apply(stage)
//   for h in hooks:             h.restore(state)             if it has a name and a saved state
//   for h in hooks:             h.begin(context)
//   until the data end or somebody asks to stop:
//     for h in hooks:           h.before_step(step)          may choose which updates run
//     feed the next batch (of another signature: build the step for it first), run forward,
//       backward and the chosen updates; global_step + 1
//     for h in hooks:           h.after_step(result)         may ask to stop
//       (a GPU runs behind the host: there the next step is started first, unless this one is
//       traced or a hook needs_result_now())
//   for h in reversed(hooks):   h.end(context, outcome)      if its begin() was called, whatever
//   threw
//
// The list is: the user's hooks, the stop at the last step, the guard against NaN and infinity, in
// f16 the watch over the loss scale, the log line, EstimatorSpec::hooks, the checkpoint saver. So
// users' hooks see a step before the guard judges it, the saver never saves a step that diverged
// (where RunConfig::fail_on_non_finite), and at the end the last checkpoint is written first.

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "belfry/framework/base/fields.h"
#include "belfry/framework/graph/step_record.h"
#include "belfry/framework/optimizers/minimize.h"
#include "belfry/framework/tensor/array.h"
#include "belfry/framework/tensor/features.h"
#include "belfry/framework/train/estimator_spec.h"
#include "belfry/framework/train/run_config.h"

namespace belfry {

class Variables;

/// How training ended.
enum class Outcome : std::uint8_t {
  finished,  ///< all steps done, or the data ended
  stopped,   ///< somebody asked for it: a hook, a signal, the host
  failed,    ///< something threw
};
constexpr auto names_of(Outcome) { return name_list("finished", "stopped", "failed"); }

/// One update while the plan is built: symbolic gradients that a hook may read and replace. Nodes
/// that it makes become part of the step.
struct GradientStage {
  const Update& update;  ///< the model's, with its loss, optimizer and variables
  Gradients gradients;   ///< one a variable; without an entry it stays as it is
  /// bool [], the same on all towers: the update changes nothing in a step in which it is false.
  /// Undefined: it always applies. A hook that sets it keeps what it was:
  /// logical_and(condition, its own).
  Tensor condition = {};
  /// The index of the update among the model's, as in StepRequest::chosen and StepResult::applied.
  std::size_t index = 0;
};

/// The context of a hook: all that it may know and do at any time. Used by the training thread
/// alone.
class HookContext {
 public:
  virtual ~HookContext() = default;
  virtual std::int64_t step() const = 0;  ///< finished steps
  /// The step at which training ends if nothing else ends it; none if it has no limit.
  virtual std::optional<std::int64_t> last_step() const { return {}; }
  /// The input has come to its end: a checkpoint from now on begins the data anew.
  virtual bool data_ended() const = 0;
  virtual const RunConfig& config() const = 0;       ///< the training's
  virtual const std::string& model_dir() const = 0;  ///< where checkpoints go
  /// The model's variables on the towers of this process, to be read and written.
  virtual Variables& variables() = 0;
  /// Whether this worker is the one that logs and writes. Always so without other workers.
  virtual bool is_chief() const { return true; }
  /// The chief's value on all workers, which must all ask.
  virtual bool chief_decides(bool own) { return own; }
  /// Seconds of a clock that never goes back, the chief's: decisions by it are alike on all
  /// workers.
  virtual double clock() const;
  /// The work that each stage of the input pipeline has done so far: where the time goes that
  /// training waits for data. Empty for streams that do not measure themselves.
  virtual std::vector<InputStage> input_stages() const { return {}; }
  /// The text of Estimator::plan(), but for a warm start, for this training and its first batch,
  /// and the memory of the first tower's devices over the step as a picture: from begin() on.
  virtual std::string plan() const { return {}; }
  /// Stop is requested when somebody asks from outside for training to stop: a signal,
  /// TrainControl, TrainOptions::stop, in a job on any worker. A hook that waits for something
  /// looks at it; evaluations and predictions with the training's estimator do.
  virtual std::stop_token stop() const { return {}; }
  /// Ends training after the running step; called in before_step(), before that step. The first
  /// reason is the one reported.
  virtual void request_stop(std::string reason) = 0;
  /// Writes a checkpoint now; returns its path. All workers must call it; the chief writes. Error:
  /// the next step is under way, as on a GPU after a step for which no hook needs_result_now().
  /// Called from after_step it holds the states of the hooks that come later as they were before
  /// the step, and nobody has looked for NaN yet: see TrainControl::request_save() for a checkpoint
  /// between two steps.
  virtual std::string save_checkpoint() = 0;
  /// The same, but with RunConfig::save_in_background only the snapshot is taken now.
  virtual void begin_checkpoint() { save_checkpoint(); }

  /// Seconds for which training has paused so far (TrainingPause); speeds leave them out.
  double paused_seconds() const { return paused_seconds_; }
  /// Adds to these seconds. TrainingPause calls it.
  void add_pause(double seconds) { paused_seconds_ += seconds; }

 private:
  friend class TrainingPause;
  double paused_seconds_ = 0;
  int pauses_ = 0;  // that are under way, one within the other
};

/// Seconds of a clock that never goes back.
double monotonic_seconds();

/// While it lives, something else than training goes on in the training thread: a hook evaluates,
/// or makes samples; a checkpoint is written. No speed of the training counts this time.
class TrainingPause {
 public:
  /// Begins a pause. One within another is not counted twice.
  explicit TrainingPause(HookContext& context) : context_(context), began_(monotonic_seconds()) {
    ++context_.pauses_;
  }
  ~TrainingPause() {
    if (--context_.pauses_ == 0) context_.add_pause(monotonic_seconds() - began_);
  }
  TrainingPause(const TrainingPause&) = delete;
  TrainingPause& operator=(const TrainingPause&) = delete;

 private:
  HookContext& context_;
  double began_;
};

/// The argument of before_step().
struct StepRequest {
  HookContext& context;     ///< the training's
  std::int64_t step = 0;    ///< finished steps
  std::size_t updates = 1;  ///< how many the model has
  UpdateSet chosen = {0};   ///< those that will run; all at first. The same on all workers
  /// Set it to have every instruction of the step timed: see StepResult::trace. The step then runs
  /// launch by launch, and its result is seen before the next one begins. The same on all workers.
  bool trace = false;
  /// Set it to have EstimatorSpec::summaries computed: see StepResult::summaries. The same on all
  /// workers.
  bool summaries = false;
};

/// The argument of after_step().
struct StepResult {
  HookContext& context;   ///< the training's
  std::int64_t step = 0;  ///< finished steps, this one counted
  double loss = 0;        ///< EstimatorSpec::loss, over all towers
  std::int64_t rows = 0;  ///< of the batch
  /// From before feeding to after the results came; on a GPU the next step's input may lie between.
  double step_seconds = 0;
  double input_wait_seconds = 0;                                ///< waiting for the batch
  std::span<const std::pair<std::string, double>> values = {};  ///< EstimatorSpec::values
  UpdateSet chosen = UpdateSet::all();                          ///< the updates that ran
  UpdateSet applied = UpdateSet::all();  ///< those of them whose GradientStage::condition held
  StepTimes times = {};                  ///< the mean of the towers
  double start_seconds = 0;              ///< monotonic_seconds() before feeding
  /// The trace, if the step was traced: the instructions of this process, tower after tower and
  /// device after device, each in order. Stays until after_step() returns.
  std::span<const TraceEntry> trace = {};
  /// If a hook asked for them. They stay until after_step() returns.
  std::span<const SummaryValue> summaries = {};

  double value(std::string_view name) const;  ///< Error listing the names
  /// As HookContext::request_stop().
  void request_stop(std::string reason) const { context.request_stop(std::move(reason)); }
};

/// Something that happens around training. A hook serves one train() call at a time.
class Hook {
 public:
  virtual ~Hook() = default;

  /// Once in each train() call, before the first step: variables are there and the step is built.
  /// Not called where there is no batch or no step left.
  virtual void begin(HookContext&) {}
  /// The gradients of one tower, weighted so that their sum over the towers is the step's (in f16
  /// the step's times the loss scale), before they are summed. Leaving one out spares its
  /// computation and its reduction; all towers must leave out the same.
  virtual void on_tower_gradients(GradientStage&) {}
  /// The sum of all towers' gradients; in f16 the loss scale is divided out of them already.
  virtual void on_gradients(GradientStage&) {}
  /// The update's nodes are made; effects made here run after them. Changes to the stage's
  /// gradients and condition come too late.
  virtual void after_apply(GradientStage&) {}
  /// Parts that each tower's rows are cut into, computed one after the other in every step: less
  /// memory for the same update. At most one hook, which is one of TrainOptions::hooks, asks for
  /// more than 1. In a step in which a tower has fewer rows than that, all towers have as few
  /// parts.
  virtual int micro_batches() const { return 1; }
  /// Before the step's batch is taken: where the data turn out to have ended, no step follows.
  virtual void before_step(StepRequest&) {}
  /// After each step, when its results are there; see needs_result_now().
  virtual void after_step(const StepResult&) {}
  /// Whether after_step() must see step number `step` (as StepResult::step counts) before the next
  /// one is started: in order to stop training right there, to read variables, to save. Asked once
  /// for each step, when it has been started. If no hook says so, a device that runs behind the
  /// host (a GPU) goes on with the next step while the host waits for this one's result:
  /// after_step() then finds the variables of the later step, and a stop comes one step later.
  virtual bool needs_result_now(HookContext& context, std::int64_t step) {
    (void)context, (void)step;
    return false;
  }
  /// Runs exactly once if begin() was called, also where that threw. What it throws does not hinder
  /// the others, which then end as failed: train() throws the first Error of all, and logs the
  /// later ones.
  virtual void end(HookContext&, Outcome) {}

  /// A hook with a name keeps its state in the checkpoint: what state() returns is handed to
  /// restore() before begin(). Two hooks with one name are an Error.
  ///@{
  virtual std::string name() const { return {}; }
  virtual std::string state() const { return {}; }
  virtual void restore(const std::string& state) { (void)state; }
  ///@}
};

using Hooks = std::vector<std::shared_ptr<Hook>>;  ///< none is null, none there twice

/// Told about each checkpoint that training writes, on the chief alone.
class CheckpointListener {
 public:
  virtual ~CheckpointListener() = default;
  /// After the hooks have begun, and when they have ended, also by a failure. What training_ends()
  /// throws is logged. Neither is called where training ends before its first step.
  ///@{
  virtual void training_begins(HookContext&) {}
  virtual void training_ends(HookContext&, Outcome) {}
  ///@}
  /// Before the state is taken that the next checkpoint holds.
  virtual void before_save(HookContext&) {}
  /// The checkpoint at `path` is complete and durable. With RunConfig::save_in_background this may
  /// be some steps later.
  virtual void after_save(HookContext&, const std::string& path) { (void)path; }
};
/// None is null, none there twice.
using CheckpointListeners = std::vector<std::shared_ptr<CheckpointListener>>;

/// Tells when a cadence is due. At its first call it is; for one step it is due once at most.
class Cadence {
 public:
  /// `every` is above 0.
  explicit Cadence(Every every) : every_(every) {}
  /// `now` in seconds of a clock that never goes back.
  bool due(std::int64_t step, double now) const;
  /// It was acted upon: the next is due from here on.
  void triggered(std::int64_t step, double now);

 private:
  Every every_;
  std::int64_t last_step_ = -1;
  double last_seconds_ = 0;
};

/// Sums over some steps that follow each other.
struct StepSums {
  /// Numbers of steps and of rows of their batches.
  ///@{
  double steps = 0, rows = 0;
  ///@}
  double seconds = 0;             ///< from the end of the step before them, without pauses
  double input_wait_seconds = 0;  ///< of these: waiting for batches
  StepTimes times = {};           ///< means of the towers

  StepSums& operator+=(const StepSums& other);  ///< every number
  StepSums operator/(double n) const;           ///< every number

  /// Quotients by `seconds`; 0 where that is 0. waiting_fraction() is the share of the time that
  /// went into waiting for batches.
  ///@{
  double steps_per_second() const { return over_seconds(steps); }
  double examples_per_second() const { return over_seconds(rows); }
  double waiting_fraction() const { return over_seconds(input_wait_seconds); }
  double over_seconds(double x) const { return seconds > 0 ? x / seconds : 0; }
  ///@}
};

/// The sums of one step, without its seconds.
StepSums sums_of(const StepResult& result);

/// Sums steps up. All speeds that people see are made of its sums: what hooks evaluate or sample
/// between steps, and checkpoints that training waits for (TrainingPause), are in none of them.
class StepMeter {
 public:
  /// The sums of no steps, from `now` on: seconds of a clock that never goes back. Without it the
  /// first collect() begins, and the seconds of that mean nothing.
  void begin(const HookContext& context, double now);
  /// Counts a step.
  void add(const StepResult& result) { sums_ += sums_of(result); }
  /// The sums since begin() or the last collect().
  StepSums collect(const HookContext& context, double now);

 private:
  StepSums sums_;
  double since_ = 0, paused_ = 0;
};

/// Shares of `seconds`, which steps took in all, their waiting for input included; the other times
/// are sums over the same steps:
///
///    input 3%, copy 1%, compute 83%, transfer 1%, reduce 2% (+9% hidden), apply 10%
///
/// `compute` is forward and backward; `transfer` waits for other devices of a tower; `reduce` waits
/// for sums over towers, while hidden ones are under way beside computing and cost nothing. `copy`
/// is shown from 1% on; `transfer` and `reduce` where there is any; nothing but `input` where
/// `times` are all 0. Shares of no seconds are 0%.
///@{
std::string breakdown_text(double input_wait_seconds, const StepTimes& times, double seconds);
std::string breakdown_text(const StepSums& sums);
///@}

}  // namespace belfry
