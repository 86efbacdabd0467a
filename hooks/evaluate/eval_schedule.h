#pragma once
// When an EvalSpec has its turn. Internal to hooks/.

#include <cstdint>
#include <optional>
#include <string>

#include "belfry/framework/train/hook.h"
#include "belfry/hooks/evaluate/eval_spec.h"

namespace belfry::hooks {

/// Alike on all workers, as long as they ask alike.
class EvalSchedule {
 public:
  /// Error, beginning with `owner`: a number of the trigger below 1, a negative delay.
  EvalSchedule(const std::string& owner, const EvalSpec& spec);

  void begin(const HookContext& context);
  /// Before the result of a step is seen: whether the step may have its turn.
  bool may_be_due(const HookContext& context, std::int64_t step) const;
  /// With the result: whether the trigger has come and allows() says so, or it is the last step.
  /// Told of every step; `settled`: of this one may_be_due() held.
  bool due(const HookContext& context, const StepResult& result, bool settled);
  /// Whether neither throttle nor start_delay hinder.
  bool allows(const HookContext& context) const;
  /// An evaluation begins.
  void evaluated(const HookContext& context);
  /// One that was due was left out.
  void refused(const HookContext& context) { counted_from_ = context.clock(); }
  bool on_checkpoints() const { return std::holds_alternative<NewCheckpoint>(trigger_); }

  std::int64_t examples() const { return examples_; }
  void set_examples(std::int64_t examples) { examples_ = examples; }

 private:
  EvalTrigger trigger_;
  double throttle_, start_delay_;  // in seconds
  double began_ = 0;
  double counted_from_ = 0;         // by a trigger in seconds
  std::optional<double> last_;      // evaluation
  std::int64_t examples_ = 0;       // of all steps
  std::int64_t largest_batch_ = 0;  // so far
  bool epoch_ended_ = false;        // and has not been evaluated
};

}  // namespace belfry::hooks
