#pragma once
// The type of an optimizer, and how to write one.

#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "belfry/framework/graph/leaves.h"
#include "belfry/framework/ops/update/optimizer_state.h"
#include "belfry/framework/optimizers/schedule.h"

namespace belfry {

struct UpdateGroup;  // framework/ops/update/updates.h

/// A variable and the gradient of a loss with respect to it, of the same type.
struct VariableGradient {
  Variable variable;
  Tensor gradient;
  double rate = 1;  ///< times the optimizer's learning rate, for this variable alone; at least 0
};
using Gradients = std::vector<VariableGradient>;

/// When an update changes something, and what it counts by.
struct ApplyArgs {
  Tensor condition =
      {};  ///< bool []: in a step in which it is false nothing changes; undefined: true
  /// Finished steps, i64 []: what a rule counts by (Adam's t is one more), and what the schedule of
  /// learning rates follows. Undefined: global_step.
  Tensor step = {}, schedule_step = {};
};

/// A way to change variables by their gradients: a plain value, made by adam() and its like or by
/// make_optimizer(). It may serve any number of updates.
struct Optimizer {
  std::string name;  ///< part of the slots' names
  /// Adds the nodes that update these variables (and the slots that they need) to their graph.
  /// apply_gradients() calls it after checking the gradients.
  std::function<void(const Gradients&, const ApplyArgs&)> apply;
  Schedule learning_rate;  ///< the one that `apply` uses, for reports
};

/// A variable that an optimizer keeps beside each variable it updates, of slot_type().
struct SlotSpec {
  std::string_view name;  ///< outlives the optimizer; usually a literal
  double initial = 0;     ///< the value before the first step; 0 unless kept as_variable
};

/// Adds one update node for these groups; the slots are those of the specs, in their order. Effects
/// must change nothing where `condition` is defined and false; update ops take it and see to that.
using UpdateMaker = std::function<void(Tensor learning_rate, Tensor step,
                                       std::span<const UpdateGroup> groups, Tensor condition)>;

/// An optimizer from its slots and its update op. Variables that agree in device
/// slot, dtype, VariableGradient::rate and kind of state (state_of()) are handed to `update` in one
/// call, so there is usually one call; each node runs where its variables are. `learning_rate` is
/// the schedule's times that rate, rounded to f32 once. `step` is ApplyArgs::step: global_step
/// unless the update has a counter, which counts finished steps, 0 at the first, and those too at
/// which the update was left out or its condition was false.
///
/// Slots are variables of kind slot, on the device of their variable, named
/// <variable>/<optimizer>/<slot>, for example conv1/kernel/adam/m. A second optimizer of the same
/// name on the same variable has slots of its own: conv1/kernel/adam_1/m. Error: there is no
/// update; a state other than as_variable with slots that do not begin at 0 or, when it is applied,
/// variables that are not f32.
Optimizer make_optimizer(std::string name, Schedule learning_rate, std::vector<SlotSpec> slots,
                         UpdateMaker update, OptimizerState state = OptimizerState::as_variable);

}  // namespace belfry
