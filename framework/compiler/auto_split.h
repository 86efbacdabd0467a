#pragma once
// Cutting a model over device slots without its author saying where.

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "belfry/framework/graph/leaves.h"

namespace belfry {

/// What a graph will be differentiated for.
struct SplitTarget {
  Tensor loss;
  std::vector<Variable> variables;
  int optimizer_slots = 0;  ///< that the optimizer keeps for each variable
};

/// Where a graph is cut: slot s has the nodes from cuts[s - 1] to before cuts[s], counted among
/// those that compute something.
struct SplitPlan {
  struct Slot {
    double flops = 0;        ///< of one forward pass
    std::int64_t bytes = 0;  ///< its parameters, with gradients and slots, and what backward reads
  };
  std::vector<Slot> slots;
  std::vector<std::size_t> cuts;  ///< one less than slots
  std::size_t nodes = 0;          ///< that were cut
};
/// "slot 0: 1.20 GFLOP, 30.0 MiB; slot 1: ..."
std::string to_string(const SplitPlan& plan);

/// The nodes of [begin, end) that compute something: all but inputs, constants and variables.
std::vector<Node*> computing_nodes(const Graph& graph, std::size_t begin, std::size_t end);

/// Cuts `nodes`, one forward pass in graph order, into `slots` runs such that the most loaded slot
/// is as light as can be; of cuts that come within a tenth of that, those that the fewest bytes
/// cross. The load of a slot is the larger of its share of all work (OpDef::flops) and its share of
/// all memory: parameters where they are first read, and outputs that the gradients of `targets`
/// read, `passes` times (micro-batches, whose activations wait for their gradients). Error: fewer
/// nodes than slots.
SplitPlan plan_split(std::span<Node* const> nodes, int slots,
                     std::span<const SplitTarget> targets = {}, int passes = 1);

/// Moves the nodes of all passes to their slots, and each variable to the slot that reads it first.
/// Error: something is on a slot already, by Scope::on(); a pass has another number of nodes than
/// the plan.
void place_split(Graph& graph, const SplitPlan& plan, std::span<const std::vector<Node*>> passes);

}  // namespace belfry
