#pragma once
// The steps of a model: training's, evaluation's and prediction's. Internal to train/.

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

#include "belfry/framework/train/hook.h"
#include "belfry/framework/train/step/replicas.h"
#include "belfry/framework/train/step/step_input.h"
#include "belfry/framework/train/step/worker_sync.h"

namespace belfry {

/// A step, and what is known of it when it is over.
struct DrivenStep {
  std::int64_t step = 0, rows = 0;
  double loss = 0;  ///< of the last sub-step that computes it, if need be of a step before
  UpdateSet chosen = {}, applied = {};
  StepTimes times = {};
  double waited = 0, began = 0;  ///< seconds: for the batch; of monotonic_seconds()
  bool traced = false;
  bool summaries = false;                ///< to be taken ...
  std::vector<SummaryValue> shown = {};  ///< ... and taken
};

/// The listeners of a training's steps.
struct StepListeners {
  /// After a batch was read, or none: whether a stop keeps all workers from it.
  std::function<bool()> stopped_reading = [] { return false; };
  /// A step is over: hooks may see it.
  std::function<void(const DrivenStep&)> report = [](const DrivenStep&) {};
};

/// Gives the towers their rows of batches, builds what these need and runs it. Steps of a training
/// read their batches, with the other workers, and on devices that run behind the host one is under
/// way while the next is started; evaluation and prediction hand batches in. Used by one thread at
/// a time.
class StepDriver {
 public:
  /// For evaluation and prediction.
  StepDriver(Session& session, Mode mode, ModelOptions options = {});
  /// For training, and to plan one. Opens the input, which heeds `stop`. Error: there is none.
  StepDriver(Session& session, const Hooks& hooks, const ModelOptions& options,
             const InputFn& input_fn, const std::stop_token& stop = {},
             StepListeners listeners = {});

  // ---- Batches that are handed in.
  /// Builds the models for a batch, but runs nothing.
  void build(const Features& batch);
  /// The same for a worker without rows; `any` is a batch like those of others.
  void build_without_rows(const Features& any);
  /// Runs the step of a batch, the one after `rows_before` rows: random numbers of its rows are
  /// numbered from there.
  void run(const Features& batch, std::int64_t rows_before);

  // ---- Batches that are read.
  enum class Read : std::uint8_t { batch, end, stopped };
  /// Reads the first batch, gives the towers their rows and builds their models; the first step
  /// takes it. `may_begin_anew`: where an earlier training has read the data to their end, from
  /// their beginning.
  Read first(bool may_begin_anew = false);
  /// Makes ready to run what the steps take, all sub-steps of a round.
  void prepare();
  /// Reads a batch, or those of a round, and starts the step, by its number; the one before it is
  /// settled. At the end of the data it is, too.
  Read next(const StepRequest& request);
  /// Waits for the step that was started last, if it has not been reported, and reports it.
  void settle();
  /// The same after a failure, unless that may have been this step's: one that was finished before
  /// counts. Nothing is thrown: the first failure is the one to tell of.
  void settle_after_failure();
  /// Whether the step that was started last goes on while the host does.
  bool runs_behind() const;
  /// Steps that were started and not judged: the variables may be those of no step.
  int under_way() const { return under_way_; }
  void judged() { --under_way_; }

  StepInput& input() { return *input_; }
  WorkerSync& sync() { return sync_; }
  /// Whether this worker's batches are all that a step takes, or those of every worker.
  bool reads_alone() const;
  Replicas& replicas() { return replicas_; }
  const Model& model() const { return replicas_.model(); }
  const std::vector<std::pair<std::string, double>>& values() const { return values_; }
  const std::vector<TraceEntry>& trace() const { return trace_; }

  std::int64_t running_step = 0;  ///< the one that a failure belongs to

 private:
  // A sub-step that was started and whose results have not been taken.
  struct SubStepRun {
    const Replicas::Started* towers = nullptr;
    const Model* model = nullptr;  // of the first
    UpdateSet chosen = {};
  };
  // A step that was started and that has not been reported.
  struct Started : DrivenStep {
    SubStepRun last = {};  // sub-step; the others have come to their end
    bool begun = false;
  };

  // Others may use the session while read() waits for something. A step that is under way does not
  // matter to them: what they ask of a device comes after it.
  template <class Body>
  auto reading(Body read);
  void split(const Features& batch);
  void accept(std::span<const Features> batches);
  void accept_nothing(const Features& any);
  bool hand_out_rows(UpdateSet chosen, int set = 0);
  Read start_round(Started next);
  void start_sub_step(Started& step, UpdateSet chosen, int number, bool last);
  void collect_summaries(Started& step, int number);
  void collect_results(Started& step, SubStepRun& sub_step);

  Session& session_;
  Mode mode_;
  Replicas replicas_;
  WorkerSync sync_;
  std::unique_ptr<StepInput> input_;  // of a training
  StepListeners listeners_;
  bool any_ = false;  // this worker has read a batch
  double loss_ = 0;
  std::vector<std::pair<std::string, double>> values_;  // EstimatorSpec::values
  std::vector<TraceEntry> trace_;                       // of the step that is reported
  std::vector<SubStep> round_;                          // of each step, from the first model
  std::optional<Started> started_;
  int under_way_ = 0;
};

}  // namespace belfry
