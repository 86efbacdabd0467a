#pragma once
// An EvalSpec as a hook of the training. Internal to hooks/.

#include <exception>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "belfry/framework/train/checkpoint.h"
#include "belfry/hooks/evaluate/best.h"
#include "belfry/hooks/evaluate/eval_schedule.h"
#include "belfry/hooks/evaluate/live_model.h"
#include "belfry/hooks/evaluate/train_and_evaluate.h"
#include "belfry/hooks/tensorboard/event_file.h"

namespace belfry::hooks {

/// An evaluation and what its exporters wrote.
struct Evaluation {
  std::int64_t step = -1;
  EvalResult result;
  std::string checkpoint;  // that was evaluated; empty: the live variables
  std::vector<ExportWritten> exports;
  std::exception_ptr failure;  // of an exporter, on the chief
};

/// The common part of the evaluations of a spec, wherever they happen. Used by the training thread,
/// but for evaluate().
class EvaluationHook : public Hook {
 public:
  /// Errors and reasons to stop begin with `kind` and the spec's name. Error: as
  /// train_and_evaluate().
  EvaluationHook(Estimator& estimator, EvalSpec spec, const std::string& kind = "evaluation");

  /// Tries out all that an evaluation would do before its second batch. Error: what that throws; a
  /// metric that there is not.
  void begin(HookContext& context) override;
  std::string name() const override;
  std::string state() const override;
  void restore(const std::string& state) override;

  /// Called for each checkpoint that is written; not `is_news`: because of the results of
  /// evaluations.
  virtual void checkpoint_written(HookContext&, const std::string& /*path*/, bool /*is_news*/) {}
  /// Whether keep_best() has something to do.
  bool may_be_best() const { return unkept_.has_value(); }
  /// Keeps a checkpoint of the live variables, which were evaluated last, if they are among the
  /// best: `saved`, or if that is empty a new one. Whether it has saved a new one.
  bool keep_best(HookContext& context, const std::string& saved);
  /// Evaluations so far that a checkpoint should know of.
  std::int64_t judged() const { return judged_; }

  /// For a training that had nothing to do: evaluates the newest checkpoint, or the live variables
  /// if there is none, as at the end. False: `stop`, which all workers hear, has cut it short.
  bool evaluate_without_training(const std::stop_token& stop);
  bool has_evaluated() const { return last_.has_value(); }
  void report(TrainAndEvaluateResult& result) const;

 protected:
  /// Evaluates the live or newest state of `estimator`, and on the chief lets the exporters have
  /// it. `saved`: the checkpoint that it is of. Nothing: a stop cut it short. Error: it is of
  /// another step.
  std::optional<Evaluation> evaluate(Estimator& estimator, bool is_chief, std::stop_token stop = {},
                                     const std::optional<CheckpointFile>& saved = {}) const;
  /// Whether EvalSpec::wanted allows one of this step; not if it throws. All workers ask.
  bool is_wanted(HookContext& context, std::int64_t step);
  /// Whether training was stopped from outside, so that it ends without an evaluation.
  static bool is_stopped(HookContext& context) {
    return context.chief_decides(context.stop().stop_requested());
  }
  /// Evaluates the live variables, and takes what was found. All workers call it.
  void evaluate_live(HookContext& context);
  /// finish(); what throws fails at the end.
  void take_or_fail(HookContext& context, Evaluation evaluation);
  /// Judges and logs what an evaluation found, unless the exporters have failed, and keeps the
  /// checkpoint if it was of one; may ask to stop. After one of live variables keep_best() is
  /// called when all specs have seen the step. All workers call it.
  void finish(HookContext& context, Evaluation evaluation);
  /// The last evaluation's state, which is that of `estimator` or a checkpoint, at the end.
  void export_at_end(Estimator& estimator);
  /// Step of the last evaluation of this training; -1: none.
  std::int64_t evaluated_step() const { return last_ ? last_->step : -1; }
  /// Whether each checkpoint has its turn, and the one that training goes on from has not had it.
  bool begins_unjudged(const HookContext& context) const;
  /// Lets others keep their best in the same folder.
  void stop_keeping() { kept_.reset(); }

  Estimator& estimator_;
  const EvalSpec spec_;
  EvalSchedule schedule_;
  FailureAtEnd failure_;  // of what an evaluation throws

 private:
  /// One whose newest checkpoint is this one.
  virtual Estimator& evaluator_of(const std::string& /*checkpoint*/) { return estimator_; }
  virtual Estimator& evaluator() { return estimator_; }
  void try_out(const std::stop_token& stop);
  void begin_exporters();
  void begin_evaluations(HookContext& context);
  bool evaluate_newest(const std::stop_token& stop);
  std::optional<Evaluation> evaluate_heeding(Estimator& estimator, bool is_chief,
                                             const std::stop_token& stop) const;
  bool keep_if_best(HookContext& context, double value, std::string checkpoint);
  void publish(const std::string& model_dir, bool better, bool others);

  const std::string kind_;
  BestValue best_;
  std::optional<BestCheckpoints> kept_;  // on the chief, if any are kept
  std::optional<Evaluation> last_;
  std::optional<double> unkept_;  // value of the last, before keep_best()
  std::int64_t judged_ = 0;
  std::vector<ExportWritten> exports_;
  std::optional<EventFile> events_;  // on the chief, from the first evaluation on
};

/// Between two steps, of the live variables.
std::shared_ptr<EvaluationHook> evaluation_between_steps(Estimator& estimator, EvalSpec spec);
/// In a thread, on EvalSpec::devices.
std::shared_ptr<EvaluationHook> evaluation_beside_training(Estimator& estimator, EvalSpec spec);

}  // namespace belfry::hooks
