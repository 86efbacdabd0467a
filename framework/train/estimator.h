#pragma once
// The Estimator.

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "belfry/framework/tensor/features.h"
#include "belfry/framework/train/estimator_spec.h"
#include "belfry/framework/train/predictions.h"
#include "belfry/framework/train/run_config.h"
#include "belfry/framework/train/training.h"
#include "belfry/framework/train/warm_start.h"

namespace belfry {

class LivePredictor;
class LockFile;
class Session;
struct ExportOptions;

/// Options of an Estimator.
struct EstimatorOptions {
  ModelFn model_fn = {};  ///< may stay empty in a subclass that overrides model_fn()
  /// For checkpoints; empty: TF_CONFIG's, or else a temporary one, which is made when training
  /// begins and removed with the Estimator if it is empty by then.
  std::string model_dir = {};
  RunConfig run = {};  ///< devices, precision, memory, saving
  /// Values to begin with while model_dir has no checkpoint; a table of them is logged.
  std::optional<WarmStart> warm_start = {};
};

/// Options of Estimator::evaluate().
struct EvalOptions {
  std::optional<std::int64_t> steps = {};  ///< batches at most; none: to the end of the data
  /// Path (of the best one: hooks::best_checkpoint()), or a folder of checkpoints, which stands for
  /// its newest checkpoint; empty: the live or newest state.
  std::string checkpoint = {};
  /// With the moving averages of the variables that have one (hooks::moving_average).
  bool averaged = false;
  /// Once stop is requested, also while it waits for its input, the evaluation ends with the
  /// running batch, as EvalResult::stopped(). An evaluation during a training of this estimator
  /// ends so, too, when that training is asked to stop from outside. In a job of several workers a
  /// token is an Error; they heed the stop of the training.
  std::stop_token stop = {};
};
/// The former name of EvalOptions.
using EvaluateArgs [[deprecated("its name is EvalOptions")]] = EvalOptions;

/// The findings of evaluate(): "loss", "global_step", and the model's metrics. The loss is the mean
/// over batches, weighted by their rows; that of a batch is the mean over towers, weighted by their
/// rows, or the sum over towers where EstimatorSpec::loss_over_towers says so. A loss that is
/// divided by the weights of its examples (Reduction::weighted_mean) is exact over one batch on one
/// tower only, as each tower divides by the weights of its own rows; a metric is exact everywhere.
class EvalResult {
 public:
  double at(std::string_view name) const;           ///< a scalar; Error listing the names
  const Array& array(std::string_view name) const;  ///< any metric, f64
  /// Whether there is a result of this name.
  bool contains(std::string_view name) const { return values_.find(name) != values_.end(); }
  /// A stop cut it short: the values are of the batches so far; "global_step" is alone if they had
  /// no rows, or there are several workers.
  bool stopped() const { return stopped_; }
  /// For evaluate() itself, which fills it.
  ///@{
  void set(const std::string& name, Array value) { values_[name] = std::move(value); }
  void set_stopped() { stopped_ = true; }
  ///@}
  /// Pairs of a name and an f64 Array, sorted by name.
  ///@{
  auto begin() const { return values_.begin(); }
  auto end() const { return values_.end(); }
  ///@}

 private:
  std::map<std::string, Array, std::less<>> values_;
  bool stopped_ = false;
};

/// The largest batch that a training has the memory for, in one way of running it.
struct FittingBatch {
  Precision precision = Precision::f32;  ///< RunConfig::precision
  bool recompute = true;                 ///< RunConfig::recompute.automatic
  /// Rows of a batch of the input_fn; one row more does not fit. 0: not even one row a tower does.
  std::int64_t batch = 0;
  bool at_least = false;  ///< as large as was asked for fits, and perhaps more
};

/// See Estimator::batch_that_fits().
struct BatchThatFits {
  std::int64_t batch = 0;  ///< with the RunConfig as it is
  /// The first is that one; then f32 and bf16, each with and without automatic recomputation.
  std::vector<FittingBatch> ways;
};
/// As a table.
std::string to_string(const BatchThatFits& fits);

/// Trains, evaluates and runs a model that a model_fn describes. Use it by composition, or derive
/// from it and override model_fn().
///
/// State: the variables live on while the Estimator does, and are shared by its calls. A call
/// begins with the newest of the live state and the checkpoints in model_dir; without either, with
/// what EstimatorOptions::warm_start says, and all else is initialised from RunConfig::seed.
///
/// Thread rules: one call at a time. TrainControl, LivePredictors, siblings: from any thread.
class Estimator {
 public:
  /// Error: the configuration is out of range, a device is unknown.
  explicit Estimator(EstimatorOptions options);
  virtual ~Estimator();
  Estimator(const Estimator&) = delete;
  Estimator& operator=(const Estimator&) = delete;

  /// Runs steps until one of the limits, the end of the data, or a request to stop. model_dir is
  /// checked to be writable before anything else, and locked if checkpoints are saved: a second
  /// training in it, of this process or another, is an Error that names the first, while a process
  /// that only reads is never refused. Training again goes on where the last call or the last
  /// process stopped, to the last bit: variables, slots, step, random numbers, input position.
  /// Where the last call met the end of the data, this one begins them anew, with the order of
  /// their first pass; passes that repeat() makes differ. If a limit ended the last call just
  /// behind the data's last batch, this call begins the data anew if it has a limit itself; without
  /// one it ends at once. Error: a limit is not above 0; anything that the model, the data or a
  /// hook throws (hooks have then ended as failed). The next call goes on after the last finished
  /// step if the failure came between two steps (reading the input, building the step for a batch,
  /// saving): with the batch after the one that failed, or with that one if a Dataset found no
  /// memory for it. After a failure inside a step, NaN and after_step() included, it starts from
  /// the newest checkpoint. Interrupted: a signal has ended it (RunConfig::throw_on_signals).
  TrainResult train(const InputFn& input_fn, TrainOptions options = {});
  /// The same, to be driven step by step.
  Training start(const InputFn& input_fn, TrainOptions options = {});

  /// The mean over a stream, which must have an end unless `steps` or `stop` sets one. Nothing is
  /// written: evaluate_and_write() (hooks/evaluate/evaluate_continuously.h) logs the result and
  /// writes it for TensorBoard. Error: no data and no stop; data known to be endless and neither
  /// `steps` nor a token; `steps` is not above 0; a token in a job of several workers. Interrupted:
  /// a signal has ended it (RunConfig::throw_on_signals).
  EvalResult evaluate(const InputFn& input_fn, EvalOptions options = {});

  /// Does what evaluate() would before its second batch, but runs nothing: makes the plan for the
  /// first batch. Returns the names of the results that are numbers; none if `stop`, or that of a
  /// training that is under way, is requested before the batch is there. Error: as evaluate().
  std::vector<std::string> check_evaluation(const InputFn& input_fn,
                                            const EvalOptions& options = {},
                                            const std::stop_token& stop = {});

  /// For train_and_evaluate() where nothing is left to train: evaluations heed `stop`, which is
  /// requested on all workers together, as that of a training that is under way. This lasts until a
  /// training begins or heed() is called again.
  void heed(std::stop_token stop);

  /// Lazy: nothing runs before the first prediction is asked for. Random numbers are step 0's.
  Predictions predict(const InputFn& input_fn, PredictOptions options = {});

  /// Predictions of single batches with the live variables, from any thread, also while this
  /// estimator trains. In framework/train/predictions.h.
  LivePredictor predictor(PredictOptions options = {});

  /// Writes the live or newest state, or that of ExportOptions::checkpoint, for use without the
  /// model's code; its model_fn may stay empty. In framework/export/export_model.h.
  std::string export_model(const std::string& dir, ExportOptions options);
  /// Error if the model cannot be exported so, or, once a training has begun, if the model reads
  /// variables or averages that the training does not have.
  void check_export(ExportOptions options);

  /// A table of the model for the first batch of a stream: its layers by scope, with the shape that
  /// each gives, its parameters and its floating-point operations. Runs nothing.
  std::string summary(const InputFn& input_fn, Mode mode = Mode::train);

  /// Another estimator of this model, with variables of its own: to evaluate what this one saves on
  /// other devices, in another thread, while it trains. Its model_fn is this one's, called from
  /// that thread too; this one must outlive it. `model_dir`: where it finds checkpoints; empty:
  /// this one's. Error: there are more workers.
  std::unique_ptr<Estimator> sibling(RunConfig run, std::string model_dir = {});

  /// The plan for the first batch of a stream: kernels, layouts, memory over the step as a picture,
  /// memory by category and the largest tensors. Runs nothing.
  std::string explain(const InputFn& input_fn, Mode mode = Mode::train);

  /// A description of what train() with the same arguments would do, without running a step: steps,
  /// workers, the rows of each tower, the sums over towers in the order in which they start, the
  /// memory of each device (for each part of a round), the order of hooks, the table of a warm
  /// start. Makes no variable and writes no checkpoint; with several workers all must call it.
  /// Error: what train() would throw before its first step, but for what hooks throw in begin().
  std::string plan(const InputFn& input_fn, TrainOptions options = {});

  /// The largest batch, of at most `most` rows, with which train() would find the memory it needs
  /// on each device, within its limit and what other programs leave, if this Estimator were alone
  /// in the process: by RunConfig, and in f32 and bf16, with what the backward pass computes again
  /// and without. Plans for batches of other sizes than the first of the stream; runs nothing,
  /// makes no variable and takes no memory of a device. The memory of the input itself, and of
  /// evaluations, comes on top. A size that the model refuses counts as too large. Each of several
  /// workers is told about its own devices. Error: as explain().
  BatchThatFits batch_that_fits(const InputFn& input_fn, const TrainOptions& options = {},
                                std::int64_t most = 1 << 16);

  const std::string& model_dir() const { return model_dir_; }  ///< may not exist yet
  const RunConfig& config() const { return config_; }          ///< EstimatorOptions::run
  /// Path of the newest checkpoint in model_dir, or nothing.
  std::optional<std::string> latest_checkpoint() const;
  /// Names of all variables, slots included. Error: there is no state yet.
  std::vector<std::string> variable_names();
  /// A copy of a variable's value. Error: there is no state yet, or no such variable.
  Array variable_value(std::string_view name);

 protected:
  /// Builds the model. The default calls EstimatorOptions::model_fn.
  virtual EstimatorSpec model_fn(Scope scope, const Batch& batch, Mode mode);

 private:
  Session& session();  // the live one, brought up to the newest state
  std::shared_ptr<Session> session_at(const std::string& checkpoint);
  std::shared_ptr<Session> new_session() { return new_session(config_); }
  std::shared_ptr<Session> new_session(const RunConfig& config);
  void save_unsaved_steps();
  std::unique_ptr<LockFile> prepare_model_dir();
  ExportOptions with_own_model(ExportOptions options);

  ModelFn model_fn_;
  std::string model_dir_;
  bool temporary_ = false;  // model_dir_ is made when training begins, and goes if it stays empty
  RunConfig config_;
  std::optional<WarmStart> warm_start_;
  std::shared_ptr<Session> session_;
};

}  // namespace belfry
