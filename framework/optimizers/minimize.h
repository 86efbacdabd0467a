#pragma once
// Updates: which loss is minimised, by which optimizer, over which variables.

#include <initializer_list>
#include <optional>
#include <string>
#include <vector>

#include "belfry/framework/optimizers/optimizer.h"

namespace belfry {

/// How the losses of towers and micro-batches become the loss of the step.
enum class TowerReduction : std::uint8_t {
  mean,  ///< weighted by rows: for a loss that is a mean over its rows
  sum,   ///< for a loss that is a sum over its rows
};

/// One update of a training step. A plain value; the gradients are built later, when hooks can edit
/// them. The updates of one step all read the variables as they were before it.
struct Update {
  Tensor loss;  ///< floating scalar
  Optimizer optimizer;
  std::vector<Variable> variables;  ///< parameters; the others stay as they are
  std::string name = {};            ///< for reports; the optimizer's if empty
  TowerReduction over_towers = TowerReduction::mean;
  /// A variable of this name, i64 [], counts how often the update was made (also where its
  /// condition was false), and its rule counts by that in place of global_step: for updates that a
  /// step makes several times. Empty: none.
  std::string counter = {};
  bool schedule_by_counter = false;  ///< learning rates follow it too

  /// The name of the update in reports and messages.
  const std::string& title() const { return name.empty() ? optimizer.name : name; }
};

/// The update that changes `variables` so that `loss` falls. Error: the loss is not a floating
/// scalar; there are no variables (a Network has none before its first call), one is listed twice
/// or is not a parameter.
Update minimize(Tensor loss, Optimizer optimizer, std::vector<Variable> variables);
/// Over all parameters that the loss' graph has now.
Update minimize(Tensor loss, Optimizer optimizer);

/// The gradients of the update's loss, in the order of its variables, times `weight` (as the loss;
/// 1 if undefined). Error naming those that the loss does not depend on.
Gradients compute_gradients(const Update& update, Tensor weight = {});

/// Adds the nodes that apply these gradients: usually those of compute_gradients(), edited.
/// Variables without an entry stay as they are. In a step in which `condition` (bool []; undefined:
/// always true) is false, nothing changes: neither variables nor slots. Error: a gradient's type is
/// not its variable's; a rate is negative or not finite; the condition is of another type.
void apply_gradients(const Update& update, const Gradients& gradients, Tensor condition = {});

/// The updates of a training step: an optimizer alone stands for minimising the step's own loss
/// over all parameters.
///
///   .train = adam({.learning_rate = 1e-3f})
///   .train = {minimize(d_loss, opt, D.variables()), minimize(g_loss, opt, G.variables())}
class Updates {
 public:
  Updates() = default;                                                    ///< none
  Updates(Optimizer optimizer) : optimizer_(std::move(optimizer)) {}      // NOLINT
  Updates(Update update) : updates_{std::move(update)} {}                 // NOLINT
  Updates(std::initializer_list<Update> updates) : updates_(updates) {}   // NOLINT
  Updates(std::vector<Update> updates) : updates_(std::move(updates)) {}  // NOLINT

  bool empty() const { return !optimizer_ && updates_.empty(); }
  /// The updates in order; that of an optimizer alone has `loss`, reduced so over towers.
  std::vector<Update> list(Tensor loss, TowerReduction over_towers = TowerReduction::mean) const;

 private:
  std::optional<Optimizer> optimizer_;
  std::vector<Update> updates_;
};

}  // namespace belfry
