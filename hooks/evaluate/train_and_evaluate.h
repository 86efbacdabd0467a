#pragma once
// Training with evaluations, early stopping and exports.

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "belfry/hooks/evaluate/eval_spec.h"

namespace belfry {

/// The training of train_and_evaluate().
struct TrainSpec {
  InputFn input_fn = {};      ///< its data; required
  TrainOptions options = {};  ///< max_steps, hooks, ...: see Estimator::train()
};

/// The best value of EvalSpec::metric, over restarts.
struct BestEvaluation {
  std::int64_t step = 0;  ///< training steps before it
  double value = 0;       ///< of the metric
};

/// An export that an exporter has written.
struct ExportWritten {
  std::string evaluation;  ///< EvalSpec::name
  std::string exporter;    ///< Exporter::name()
  std::string path;        ///< as the exporter returned it
  std::int64_t step = 0;   ///< of what was exported
};

/// The outcome of train_and_evaluate().
struct TrainAndEvaluateResult {
  TrainResult train;                              ///< of Estimator::train()
  std::map<std::string, EvalResult> evaluations;  ///< the last of each EvalSpec, by name
  std::map<std::string, BestEvaluation> best;     ///< by EvalSpec::name; where there is one
  std::vector<ExportWritten> exports;  ///< those that are still there, in their order; on the chief
};

/// Trains `estimator` and evaluates by each EvalSpec, in their order where several have their turn:
/// when its trigger says so, and once more at the end unless the last state has been evaluated.
///
///   train_and_evaluate(classifier, {train, {.max_steps = 10'000}},
///                      {{.name = "test", .input_fn = test, .every = Steps(500),
///                        .early_stopping = {.patience = 5},
///                        .exporters = {best_exporter({.model = {.signatures = ...}})}}});
///
/// Evaluations use the live variables and plans that are made once (see EvalSpec::devices for
/// another way); they change nothing of what training computes. A step whose loss, or another of
/// the model's values, is not finite is not evaluated. All workers evaluate, each its part of the
/// data, and stop together; the chief logs, writes results for TensorBoard (evaluation_dir()) and
/// exports.
///
/// A training that is stopped from outside (HookContext::stop()) cuts short the evaluation that is
/// under way, whose values then do not count, and ends without another one and without exports.
///
/// How far early stopping has come, and epochs, are part of the checkpoint: a training that goes on
/// where patience has run out stops before its first step, unless there is more patience then. What
/// is best is in best.json beside the checkpoints or exports that are kept. A training that has
/// reached max_steps already evaluates, keeps and exports as at the end; what stops training stops
/// that too, and the outcome is then `stopped`.
///
/// Error: two EvalSpecs, or two exporters, of one name; a number out of range; a spec without
/// input_fn; devices of its own in a job of several workers; before the first step, a model that
/// cannot be exported as an exporter's signatures say; what train() throws, and evaluations and
/// exporters, which then have failed the training.
TrainAndEvaluateResult train_and_evaluate(Estimator& estimator, const TrainSpec& train,
                                          const std::vector<EvalSpec>& evaluations);

}  // namespace belfry
