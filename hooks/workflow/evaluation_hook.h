#pragma once
// An EvalSpec as a hook of the training. Internal to hooks/.

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "belfry/hooks/best_checkpoints.h"
#include "belfry/hooks/best_value.h"
#include "belfry/hooks/workflow/eval_schedule.h"
#include "belfry/hooks/workflow/train_and_evaluate.h"

namespace belfry::hooks {

/// An evaluation and what its exporters wrote.
struct Evaluation {
  std::int64_t step = -1;
  EvalResult result;
  std::string checkpoint;  // that was evaluated; empty: the live variables
  std::vector<ExportWritten> exports;
};

/// Evaluates the live variables, or `checkpoint`, and on the chief lets the exporters have them.
Evaluation evaluate_and_export(Estimator& estimator, const EvalSpec& spec, bool is_chief,
                               const std::string& checkpoint = {});

/// What the evaluations of a spec have in common, wherever they happen. As Hook and
/// CheckpointListener it is used by the training thread.
class EvaluationHook : public Hook, public CheckpointListener {
 public:
  /// Error: as train_and_evaluate().
  EvaluationHook(Estimator& estimator, EvalSpec spec);

  void begin(HookContext& context) override;
  std::string name() const override { return "evaluate/" + spec_.name; }
  std::string state() const override;
  void restore(const std::string& state) override;

  /// For a training that had nothing to do.
  void evaluate_without_training();
  bool has_evaluated() const { return last_.has_value(); }
  void report(TrainAndEvaluateResult& result) const;

 protected:
  /// Logs, keeps and judges what an evaluation found; may ask to stop. Whether it has saved a
  /// checkpoint of it, as for one of the best.
  bool take(HookContext& context, Evaluation evaluation);
  /// The last evaluation's state, which is that of `estimator` or a checkpoint, at the end.
  void export_at_end(Estimator& estimator);
  /// Step of the last evaluation of this training; -1: none.
  std::int64_t evaluated_step() const { return last_ ? last_->step : -1; }
  bool judges() const { return spec_.early_stopping.patience > 0 || spec_.keep_best > 0; }

  Estimator& estimator_;
  const EvalSpec spec_;
  EvalSchedule schedule_;

 private:
  bool keep_if_best(HookContext& context, double value);
  void publish(const HookContext& context, bool better, bool others) const;

  BestValue best_;
  std::optional<BestCheckpoints> kept_;  // on the chief, if any are kept
  std::optional<Evaluation> last_;
  std::vector<ExportWritten> exports_;
};

/// Between two steps, of the live variables.
std::shared_ptr<EvaluationHook> evaluation_between_steps(Estimator& estimator, EvalSpec spec);
/// In a thread, on EvalSpec::devices.
std::shared_ptr<EvaluationHook> evaluation_beside_training(Estimator& estimator, EvalSpec spec);

}  // namespace belfry::hooks
