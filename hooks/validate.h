#pragma once
// Evaluation while training goes on: early stopping, and the checkpoint of the best value.

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "belfry/framework/train/estimator.h"
#include "belfry/hooks/early_stopping.h"

namespace belfry::hooks {

using belfry::Better;

struct ValidateOptions {
  /// The name of its results and of the folder for its best checkpoints: unlike those of other
  /// evaluations of the training, those of EvalSpecs too.
  std::string name = {};
  std::string metric = "loss";    ///< a scalar of EvalResult
  Better better = Better::lower;  ///< a NaN or infinite value is never better
  /// Between evaluations, counted from step 0; where training has a limit its last step has one
  /// too.
  Steps every = Steps(100);
  /// Evaluations in a row without a better value after which training stops; 0: it never does.
  std::int64_t patience = 0;
  double min_change = 0;  ///< a value is better if it is by more than this; at least 0
  /// Evaluations after fewer steps neither stop training nor count as waited.
  std::int64_t min_steps = 0;
  /// Training stops when the metric is as good as this.
  std::optional<double> target = {};
  /// Checkpoints of the best values that are kept, in model_dir/best or best_<name>; 0: none. Each
  /// one that is also counts towards RunConfig::keep_checkpoints. best.json there says which they
  /// are, and of what values; it is believed after a restart, and none of them gives way to a worse
  /// one.
  int keep_best = 1;
  EvaluateArgs evaluate = {};  ///< its `checkpoint` and `stop` stay empty
  /// Asked on the chief before each evaluation, with the finished steps: false leaves it out.
  /// Empty: none is.
  std::function<bool(std::int64_t step)> wanted = {};
  /// Called on the chief with the finished steps and the results: for a report, for instance.
  std::function<void(std::int64_t step, const EvalResult& results)> receive = {};
};

/// Evaluates the live variables of `estimator`, which is the one that trains, logs the results and
/// writes them for TensorBoard, in model_dir/eval or eval_<name>. It changes nothing of what
/// training computes. A step whose loss, or another of the model's values, is not finite is not
/// evaluated.
///
/// The best value and the evaluations since are part of the checkpoint, so that patience and best
/// survive a restart; a training that goes on where patience has run out stops before its first
/// step, unless the hook has more patience then. `estimator` must outlive the hook's training.
/// Error: no input_fn, `every` or `evaluate.steps` below 1, another number below 0, a name with
/// slashes, a checkpoint to evaluate or a token to stop by; in training, an unknown metric, a
/// best.json of another metric, another hook that keeps its best in that folder, or whatever
/// Estimator::evaluate() throws.
std::shared_ptr<Hook> validate(Estimator& estimator, InputFn input_fn,
                               ValidateOptions options = {});

/// Path of the best checkpoint that validate() or an EvalSpec of this name keeps for this
/// model_dir; or nothing.
std::optional<std::string> best_checkpoint(const std::string& model_dir,
                                           std::string_view name = {});

}  // namespace belfry::hooks
