#pragma once
// The evaluations of a training, and the times when they are due.

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "belfry/framework/base/units.h"
#include "belfry/framework/train/estimator.h"
#include "belfry/hooks/evaluate/early_stopping.h"
#include "belfry/hooks/evaluate/exporters.h"

namespace belfry {

/// Every so many passes over the training data, which have so many examples: when the rows of all
/// steps, those before a restart included, come to a multiple of it or pass one.
struct Epochs {
  std::int64_t count = 1;     ///< passes from one evaluation to the next; at least 1
  std::int64_t examples = 0;  ///< in one pass; must be set
};

/// Each checkpoint that training writes by RunConfig::save_checkpoint or because somebody asks,
/// but for that of step 0 and those written for EvalSpec::keep_best. The live variables are
/// evaluated before the next step, of a checkpoint that is written in the background when it is
/// durable (by several workers after one more step). A training that goes on from a checkpoint
/// evaluates it first, unless it tells that this was done: so does the last one, which is written
/// once more for that; after a kill, results of the newest one may come twice.
struct NewCheckpoint {};

/// Steps are counted from step 0, time from the last evaluation or the beginning of training.
using EvalTrigger = std::variant<NewCheckpoint, Steps, std::chrono::milliseconds, Epochs>;

/// An evaluation that goes on beside training, by train_and_evaluate(), hooks::validate() or, in a
/// process of its own, evaluate_continuously(). Aggregate; give the name first.
struct EvalSpec {
  /// The name of its results, in the log and in model_dir/eval_NAME for TensorBoard; empty:
  /// model_dir/eval. No two evaluations of a training have the same name.
  std::string name = {};
  InputFn input_fn = {};                ///< its data; required
  EvalTrigger every = NewCheckpoint();  ///< when one is due; above 0
  /// The least time from one evaluation's beginning to the next; one due sooner is left out;
  /// evaluate_continuously() waits instead.
  std::chrono::milliseconds throttle = std::chrono::milliseconds(0);
  /// The least time of training before its first evaluation.
  std::chrono::milliseconds start_delay = std::chrono::milliseconds(0);
  std::optional<std::int64_t> steps =
      {};                 ///< batches at most; none: to the end of the data, which must have one
  bool averaged = false;  ///< with moving averages: see EvalOptions; exports have them too
  /// The scalar of EvalResult that says which evaluation is the best. A value that is NaN or
  /// infinite is never better.
  std::string metric = "loss";
  Better better = Better::lower;             ///< lower or higher values of `metric`
  EarlyStoppingOptions early_stopping = {};  ///< by `metric`
  /// Checkpoints of the best values that are kept, in model_dir/best or best_<name>; 0: none. Each
  /// one that is also counts towards RunConfig::keep_checkpoints. best.json there says which they
  /// are, and of what values; it is believed after a restart, and none of them gives way to a worse
  /// one. See hooks::best_checkpoint().
  int keep_best = 0;
  Exporters exporters = {};  ///< asked after each evaluation, in their order
  /// With devices of its own, as in RunConfig::devices, the evaluation is of a checkpoint that it
  /// asks for, on a model of its own, in a thread of its own, while training goes on. One is under
  /// way at a time: what comes sooner is left out. What follows from its result, stopping too,
  /// comes after the step at which it is there. input_fn, model_fn and exporters are called from
  /// that thread, exporters' begin() from the training's. What it needs on the devices stays there
  /// to the end. Jobs of several workers have no such thread. Empty: the live variables are
  /// evaluated between two steps.
  std::vector<std::string> devices = {};
  /// Asked on the chief before each evaluation, with the finished steps, by the training thread or
  /// that of evaluate_continuously(): false leaves it out. Empty: none is.
  std::function<bool(std::int64_t step)> wanted = {};
  /// Called on the chief with each result, by the same thread: Report::add_evaluation, say.
  std::function<void(std::int64_t step, const EvalResult& results)> receive = {};
};

}  // namespace belfry
