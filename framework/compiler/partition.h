#pragma once
// One program a device slot, out of a tower's program.

#include <vector>

#include "belfry/framework/compiler/plan.h"

namespace belfry {

/// Programs that run side by side, each in its own order.
struct Partition {
  std::vector<Program> slots;
  std::vector<TowerPlan::Output> outputs;  ///< where those of the whole program are
};

/// Cuts `program` by its nodes' slots. A value that is read on another slot is sent there once,
/// however many read it: right before its first reader there stands a receive. Inputs and constants
/// are everybody's; a variable is on its node's slot, and so are the effects that write it. No
/// order of waiting can close a circle: each slot keeps the order of the whole.
Partition partition(const Program& program, int slots);

/// Error unless all that the roots need is on a slot below `slots`; it names the scope path.
void check_slots(std::span<const Tensor> outputs, std::span<Node* const> effects, int slots);

}  // namespace belfry
