#pragma once
// The arguments and the result of a model_fn, with the summaries that it shows of itself.

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "belfry/framework/base/fields.h"
#include "belfry/framework/graph/graph.h"
#include "belfry/framework/graph/scope.h"
#include "belfry/framework/layers/metrics/metrics.h"
#include "belfry/framework/optimizers/minimize.h"
#include "belfry/framework/tensor/array.h"
#include "belfry/framework/tensor/features.h"

namespace belfry {

/// The form of a Summary: see the functions below, scalar_summary() and so on.
enum class SummaryKind : std::uint8_t { scalar, histogram, image, text };

/// A tensor of a training step to look at, in TensorBoard (hooks::summaries) or in a report
/// (hooks::report). It is computed in the steps for which a hook asks, and costs nothing in others.
struct Summary {
  std::string name = {};                   ///< not empty; no other summary of the model has it
  SummaryKind kind = SummaryKind::scalar;  ///< how it is shown
  Tensor value = {};                       ///< type and shape as the kind asks
  int images = 3;                          ///< of an image: how many rows at most
};

/// A floating scalar; shown is the mean over the towers, weighted by their rows.
inline Summary scalar_summary(std::string name, Tensor value) {
  return {std::move(name), SummaryKind::scalar, std::move(value)};
}
/// How values of any shape are distributed: those of the first tower.
inline Summary histogram_summary(std::string name, Tensor value) {
  return {std::move(name), SummaryKind::histogram, std::move(value)};
}
/// [n, h, w, c] with c of 1, 3 or 4; floating from 0 to 1, or u8: the first rows of the first
/// tower.
inline Summary image_summary(std::string name, Tensor value, int images = 3) {
  return {std::move(name), SummaryKind::image, std::move(value), images};
}
/// u8, the bytes of a text or, in two dimensions, of one a row, each ended by its first 0: those of
/// the first tower.
inline Summary text_summary(std::string name, Tensor value) {
  return {std::move(name), SummaryKind::text, std::move(value)};
}

/// The value that a step made of a Summary.
struct SummaryValue {
  std::string name = {};                   ///< the Summary's
  SummaryKind kind = SummaryKind::scalar;  ///< the Summary's
  Array value = {};                        ///< a scalar is []; bf16 and f16 have become f32
};

class Hook;

/// The use for which a model is built.
enum class Mode : std::uint8_t { train, evaluate, predict };
constexpr auto names_of(Mode) { return name_list("train", "evaluate", "predict"); }

/// The batch that a model_fn sees: tensors by feature name. All shapes are concrete; a batch of
/// another shape (a short last one) makes one more plan.
class Batch {
 public:
  /// Makes an input of the graph for each feature.
  Batch(Graph& graph, const Signature& signature);

  /// The same with rows of every feature only. Error: a feature has another number of rows than the
  /// batch, so that it cannot be cut.
  Batch rows(std::int64_t first, std::int64_t count) const;
  /// The same with this tensor as a feature, in place of the one of that name if there is one: a
  /// model_fn that wraps another one prepares its input so.
  Batch with(std::string_view name, Tensor value) const;

  const Tensor& operator[](std::string_view name) const;  ///< Error listing the names
  bool contains(std::string_view name) const;             ///< whether there is such a feature
  std::vector<std::string> names() const;                 ///< in the order of the signature
  /// Rows: the size of axis 0 of the first feature that has axes; 1 when none has.
  std::int64_t rows() const;

 private:
  Batch() = default;
  std::vector<std::pair<std::string, Tensor>> items_;
};

/// Values by name. No name is empty or comes twice.
///@{
using NamedTensors = std::vector<std::pair<std::string, Tensor>>;
using NamedMetrics = std::vector<std::pair<std::string, Metric>>;
///@}

/// A part of a step: some of its updates, on one batch. It sees the variables as the part before
/// left them, and draws random numbers of its own.
struct SubStep {
  UpdateSet updates = UpdateSet::all();  ///< of EstimatorSpec::train
  bool fresh_batch = true;  ///< the next one of the input; false: that of the sub-step before
};

/// The result of a model_fn. Each mode needs these fields:
///
///              | loss            | train         | predictions    | metrics
///   train      | needed, scalar  | needed        | ignored        | ignored
///   evaluate   | needed, scalar  | ignored       | ignored        | at will
///   predict    | ignored         | ignored       | at least one   | ignored
struct EstimatorSpec {
  NamedTensors predictions = {};  ///< the results of predict(), and an export's outputs
  Tensor loss = {};               ///< floating, [] or [1]
  Updates train = {};             ///< updates of a step; an optimizer alone minimises `loss`
  /// The reduction of `loss` and of an update that is an optimizer alone; other updates have their
  /// own.
  TowerReduction loss_over_towers = TowerReduction::mean;
  NamedMetrics metrics = {};  ///< names other than loss and global_step
  /// Floating scalars that hooks see after each training step: means over towers.
  NamedTensors values = {};
  /// Computed while training, in the steps for which a hook asks; in a round by its last sub-step.
  std::vector<Summary> summaries = {};
  std::vector<std::shared_ptr<Hook>> hooks = {};  ///< join the user's while training
  /// Makes a step a round of sub-steps, one after the other; empty: one, of all updates. The round
  /// is global_step's unit, and what hooks see: updates that they do not choose are left out of
  /// every sub-step, and a sub-step that has none left is not run, though its batch is taken. A
  /// round for which the data no longer suffice is not begun.
  ///
  /// A sub-step computes the losses of its own updates alone. So where `loss` or one of the
  /// `values` is the loss of an update, the value of a round is that of the last sub-step with this
  /// update. Moving statistics change in the sub-steps that update the parameters with the nearest
  /// names: those of generator/bn1 with generator/bn1/gamma, or else with what is in generator/.
  std::vector<SubStep> round = {};
};

/// Error, naming the field and the mode, unless the spec has what the table above asks for.
void validate(const EstimatorSpec& spec, Mode mode);

/// Builds the model. Called once for each mode and input signature (by each train() call anew, as
/// its hooks take part), never for a step.
using ModelFn = std::function<EstimatorSpec(Scope, const Batch&, Mode)>;

}  // namespace belfry
