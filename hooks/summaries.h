#pragma once
// A hook that writes the course of training for TensorBoard.

#include <chrono>
#include <functional>
#include <memory>
#include <optional>

#include "belfry/framework/train/hook.h"
#include "belfry/hooks/summary_values.h"

namespace belfry::hooks {

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
///   histograms and texts by their names, images as <name>/image/0, <name>/image/1, ...
///   learning_rate, or learning_rate/<update> where a step makes several: what its schedule gives
///   global_step/sec, examples/sec, input/waiting (the fraction of time that training waited for
///   its input): since the time before, so not at the first step
///
/// Only the chief writes, by a thread of its own; what cannot be written is left out with a warning
/// (see EventFile). Error: a cadence below 1, flush out of range.
std::shared_ptr<Summaries> summaries(SummariesOptions options = {});

}  // namespace belfry::hooks
