#pragma once
// Evaluation beside a training elsewhere, and of what it leaves.

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <stop_token>
#include <string>

#include "belfry/hooks/evaluate/eval_spec.h"

namespace belfry {

/// Options of evaluate_continuously().
struct EvaluateContinuouslyOptions {
  /// Ends once a checkpoint of so many steps has been evaluated. nullopt: at none.
  std::optional<std::int64_t> max_steps = {};
  /// Ends when there was no new checkpoint for so long. nullopt: never.
  std::optional<std::chrono::milliseconds> timeout = {};
  std::chrono::milliseconds poll = std::chrono::seconds(1);  ///< between looks for one
  /// Ends at once when it is requested, also within an evaluation, whose values then do not count.
  std::stop_token stop = {};
};

/// Evaluates each newest checkpoint in the model_dir of `estimator`, which another process writes,
/// as it comes: those that came while one was evaluated are passed over but for the newest. Logs
/// the results and writes them for TensorBoard. It only reads the checkpoints. Returns the last
/// result; nothing if there was none.
///
/// Error: a time below 0, `poll` of 0, data known to be endless and no EvalSpec::steps, what
/// Estimator::evaluate() throws; a spec that asks for what is a training's: another trigger or a
/// delay, early stopping, best checkpoints, exports, devices.
std::optional<EvalResult> evaluate_continuously(Estimator& estimator, const EvalSpec& spec,
                                                const EvaluateContinuouslyOptions& options = {});

/// Evaluates all checkpoints in the model_dir of `estimator`, from the oldest on, and for each logs
/// the result and writes it for TensorBoard: a curve of a training that is over. Returns the
/// results by step; a stop ends them early. Error: there is no checkpoint; a spec as for
/// evaluate_continuously().
std::map<std::int64_t, EvalResult> evaluate_all(Estimator& estimator, const EvalSpec& spec,
                                                const std::stop_token& stop = {});

/// Estimator::evaluate() whose result is logged and written for TensorBoard, in
/// model_dir/eval_NAME or model_dir/eval; one that a stop cut short is not.
EvalResult evaluate_and_write(Estimator& estimator, const InputFn& input_fn,
                              const EvalOptions& options = {}, const std::string& name = {});

}  // namespace belfry
