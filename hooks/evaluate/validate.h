#pragma once
// Evaluation while Estimator::train() goes on: early stopping, and the checkpoint of the best
// value.

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "belfry/framework/train/hook.h"
#include "belfry/hooks/evaluate/eval_spec.h"

namespace belfry::hooks {

/// A hook that evaluates the live variables of `estimator`, which is the one that trains, when
/// `spec` says so and after the last step of a training that has a limit; it logs the results and
/// writes them for TensorBoard, in model_dir/eval or eval_<name>. It changes nothing of what
/// training computes. A step whose loss, or another of the model's values, is not finite is not
/// evaluated.
///
///   hooks::validate(estimator, {.input_fn = test, .every = Steps(100), .metric = "dice",
///                               .better = Better::higher, .early_stopping = {.patience = 5}})
///
/// The best value and the evaluations since are part of the checkpoint, so that patience and best
/// survive a restart; a training that goes on where patience has run out stops before its first
/// step, unless the hook has more patience then. The hook hears neither of checkpoints nor of the
/// end of the data: train_and_evaluate() does. `estimator` must outlive the hook's training.
///
/// Error: no input_fn, a number out of range, a name with slashes, `every` of NewCheckpoint,
/// devices or exporters; in training, an unknown metric, a best.json of another metric, another
/// hook that keeps its best in that folder, or whatever Estimator::evaluate() throws.
std::shared_ptr<Hook> validate(Estimator& estimator, EvalSpec spec);

/// Path of the best checkpoint that an EvalSpec of this name keeps for this model_dir; or nothing.
/// Error: it cannot be looked at.
std::optional<std::string> best_checkpoint(const std::string& model_dir,
                                           std::string_view name = {});

}  // namespace belfry::hooks
