#pragma once
// A model_fn's result for one mode and one input signature. Internal to train/.

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "belfry/framework/compiler/auto_split.h"
#include "belfry/framework/compiler/plan.h"
#include "belfry/framework/distribute/strategy.h"
#include "belfry/framework/train/estimator_spec.h"
#include "belfry/framework/train/hook.h"

namespace belfry {

/// How a model takes part in a step, beside what its model_fn says.
struct ModelOptions {
  int towers = 1;               ///< that train it together, over all workers
  std::int64_t most_rows = 0;   ///< of any of them; 0: as many as this one
  std::int64_t least_rows = 0;  ///< of those that have rows; 0: as many as this one
  bool even_rows = true;        ///< all have as many
  bool alike = true;            ///< their batches differ in the number of rows at most
  bool averaged = false;        ///< evaluation and prediction: with the variables' moving averages
  int micro_batches = 1;        ///< parts of the rows, computed one after the other
  Precision precision = Precision::f32;
  Bytes bucket = Bytes(4 << 20);  ///< about so many bytes of gradients are averaged at once
  int split = 0;                  ///< devices that the model is cut into; 0: it says so itself
  /// Where it is cut; nothing: where split_placements() would.
  std::optional<SplitPlacement> split_placement = {};
  RecomputeOptions recompute = {};  ///< of its plans, for who cuts it
  /// The device of a variable that exists already; it stays there.
  DeviceOfVariable device_of_variable = {};
};

/// Is told where a model is to be cut, and may replace that by where another worker cuts its own.
using AgreeOnSplit = std::function<void(SplitPlacement&)>;

/// The graph that a model_fn built, with what each mode wants of it. One a tower, or several with
/// the same signature.
class Model {
 public:
  /// Calls `model_fn`, in train mode once a micro-batch, and there builds the updates through the
  /// chain of gradient hooks: average, then `hooks` and the spec's own, then apply. Error: what
  /// model_fn or a hook threw, with mode and signature.
  Model(const ModelFn& model_fn, Mode mode, Signature signature, const Hooks& hooks,
        const ModelOptions& options = {});

  const EstimatorSpec& spec() const { return spec_; }
  Mode mode() const { return mode_; }
  const Signature& signature() const { return signature_; }
  const Graph& graph() const { return *graph_; }
  std::int64_t rows() const { return rows_; }
  const ModelOptions& options() const { return options_; }
  /// Where it is cut, if ModelOptions::split asked for it.
  const std::optional<SplitPlacement>& split() const { return options_.split_placement; }
  /// A description of split() for people: see describe_split().
  const std::string& split_text() const { return split_text_; }
  /// The placements among which it was chosen, split() among them; empty if
  /// ModelOptions::split_placement said where.
  std::span<const SplitPlacement> split_choices() const { return split_choices_; }
  std::size_t update_count() const { return updates_.size(); }
  /// Whether model_fn made anything in this scope, by full path, or below; always in the empty one.
  bool has_scope(std::string_view scope) const;
  UpdateSet all_updates() const { return UpdateSet::first(update_count()); }
  /// All variables, in the order of their making.
  std::vector<VariableOptions> variables() const;
  /// The sub-steps of a step: at least one.
  std::span<const SubStep> round() const { return round_; }
  /// The sets of updates that these make, each once.
  std::vector<UpdateSet> different_sub_steps() const;

  /// The loss and the values of the spec are results 0, 1, ... Whether a plan for these updates
  /// computes one of them.
  bool has_result(std::size_t result, UpdateSet chosen) const {
    return spec_.round.empty() || !(result_updates_[result] & chosen).empty();
  }

  /// Whether a hook made it conditional: plans of the train mode then say if it was applied.
  bool may_be_skipped(std::size_t update) const;

  /// The plan, on a tower of these devices, that runs the updates in `chosen`
  /// (train mode), or the evaluation or prediction. Outputs: train: the results that it has, of all
  /// towers, then a bool [] for each chosen update that may_be_skipped; evaluate: loss, then
  /// the metrics' states; predict: the predictions. `apply` false: for a tower that takes part but
  /// leaves the variables to another.
  std::shared_ptr<const TowerPlan> compile(std::span<Device* const> devices,
                                           const CompileOptions& options = {},
                                           UpdateSet chosen = UpdateSet::all(),
                                           bool apply = true) const;
  /// The plan of the train mode that computes the spec's summaries, which are its outputs, and
  /// changes nothing. Scalars are of all towers, the others of this one.
  std::shared_ptr<const TowerPlan> compile_summaries(std::span<Device* const> devices,
                                                     const CompileOptions& options = {}) const;

 private:
  // The gradients and nodes of one update, over all micro-batches.
  struct BuiltUpdate {
    std::optional<Update> update;
    Gradients gradients;  // sums so far
    Tensor condition;
    std::vector<Node*> effects, reductions;
  };

  // The nodes and results that model_fn built for a part of the rows.
  struct MicroBatch {
    EstimatorSpec spec;
    std::vector<UpdateSet> result_updates;
    double fraction = 1;             // of the rows
    std::size_t begin = 0, end = 0;  // its nodes
  };

  void build_training(const ModelFn& model_fn, const Batch& batch, const Hooks& hooks);
  MicroBatch build_forward(const ModelFn& model_fn, const Batch& batch, RowRange rows,
                           bool first = true);
  void build_pipeline(const std::vector<MicroBatch>& micro_batches);
  void add_results(const MicroBatch& micro_batch);
  void add_summaries(const MicroBatch& micro_batch, bool first);
  void add_gradients(const MicroBatch& micro_batch);
  std::vector<SplitPass> passes_of(const std::vector<MicroBatch>& micro_batches) const;
  void place(const std::vector<MicroBatch>& micro_batches);
  void merge_over_towers();
  void average_statistics(std::size_t forward_effects);
  std::vector<Node*> reductions_after(std::size_t first_node) const;
  void add_forward_effect(Node& effect);
  UpdateSet updates_near(const Node& variable) const;
  void build_updates(const Hooks& hooks);
  void keep_statistics_finite();

  Mode mode_;
  Signature signature_;
  ModelOptions options_;
  std::int64_t rows_ = 1;
  std::unique_ptr<Graph> graph_;
  EstimatorSpec spec_;
  std::vector<SubStep> round_{1};
  std::vector<UpdateSet> result_updates_;  // whose loss a result is; all: of none
  // Moving statistics and the like, each with the updates that it goes with.
  std::vector<std::pair<Node*, UpdateSet>> forward_effects_;
  std::vector<Node*> forward_reductions_;  // that those read
  std::vector<BuiltUpdate> updates_;
  std::vector<SplitPlacement> split_choices_;
  std::string split_text_;
};

/// Size of axis 0 of the first feature that has axes; 1 when none has.
std::int64_t row_count(const Features& batch);

}  // namespace belfry
