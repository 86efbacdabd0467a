#pragma once
// The course of a training, and results of evaluations, for TensorBoard.

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "belfry/framework/train/estimator.h"
#include "belfry/framework/train/hook.h"
#include "belfry/hooks/tensorboard/event_file.h"
#include "belfry/hooks/tensorboard/summary_values.h"

namespace belfry::hooks {

/// Options of summaries().
struct SummariesOptions {
  Every every = Steps(100);  ///< between scalars, in steps or seconds
  /// Between EstimatorSpec::summaries; none: as `every`. The chief's clock measures seconds.
  std::optional<Every> of_model = {};
  /// Between histograms of the variables that are trained; none: never. Each is a copy of all of
  /// them, and a step for which a GPU waits.
  std::optional<Every> histograms = {};
  bool graph = true;                      ///< the model's, once in a model_dir
  HyperParameters hyper_parameters = {};  ///< the user's, shown as they are
  /// An event is in the file at the latest after so long; from 0 to a year.
  std::chrono::milliseconds flush = std::chrono::seconds(2);
  std::function<double()> clock = monotonic_seconds;  ///< seconds, never going back
};

/// A hook that also listens: given to TrainOptions::listeners too, it notes each checkpoint.
class Summaries : public Hook, public CheckpointListener {};

/// Writes an event file into model_dir at each train() call. At the first step and then by cadence:
///
///   loss, and each of EstimatorSpec::values by its name
///   EstimatorSpec::summaries, for which the steps compute the forward pass twice: scalars,
///   histograms and texts by their names, images as NAME/image/0, NAME/image/1, ...
///   learning_rate, or learning_rate/UPDATE where a step makes several: what its schedule gives
///   global_step/sec, examples/sec, input/waiting (the fraction of time that training waited for
///   its input): since the time before, so not at the first step
///
/// Only the chief writes, by a thread of its own; what cannot be written is left out with a warning
/// (see EventFile). Error: a cadence below 1, flush out of range.
std::shared_ptr<Summaries> summaries(SummariesOptions options = {});

/// Where results of the evaluation `name` belong: model_dir/eval, or model_dir/eval_NAME.
/// TensorBoard shows the folder as a run of its own, beside the training's.
std::string evaluation_dir(const std::string& model_dir, std::string_view name = {});
/// Error, beginning with `caller`: evaluation_dir() of `name` would not be a folder of model_dir.
void check_evaluation_name(std::string_view caller, std::string_view name);

/// Adds an event file to `dir`: the loss and each metric of one element as a scalar at `step` (the
/// number of steps that the model had been trained for), each metric pr_curve() as a curve, and the
/// checkpoint's path as text, if there is one. What cannot be written is left out with a warning:
/// see EventFile.
void write_evaluation(const std::string& dir, const EvalResult& result, std::int64_t step,
                      const std::string& checkpoint = {});
/// The same to a file that is there.
void write_evaluation(EventFile& file, const EvalResult& result, std::int64_t step,
                      const std::string& checkpoint = {});

}  // namespace belfry::hooks
