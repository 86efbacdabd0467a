#pragma once
// Cutting a model over devices without its author saying where.

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "belfry/framework/compiler/plan.h"
#include "belfry/framework/graph/leaves.h"

namespace belfry {

/// A loss that a forward pass is differentiated for, with the variables that its gradients are of.
struct SplitTarget {
  Tensor loss;
  std::vector<Variable> variables;
  int optimizer_slots = 0;  ///< that the optimizer keeps for each variable
};

/// One forward pass over a micro-batch, with its targets; none: nothing is differentiated.
struct SplitPass {
  std::vector<Node*> nodes;
  std::vector<SplitTarget> targets;
};

/// Where a model is cut: node i of each pass is on device device_of[i].
struct SplitPlacement {
  std::vector<int> device_of;
  double seconds = 0;  ///< of a step, estimated: only ratios count
};
/// "device 0: 1.2 GFLOP forward, down/a to bottom and up/b; device 1: ..."; of one forward pass,
/// `nodes`.
std::string describe_split(const SplitPlacement& placement, std::span<Node* const> nodes);

/// The nodes of [begin, end) that compute something: all but inputs, constants and variables.
std::vector<Node*> computing_nodes(const Graph& graph, std::size_t begin, std::size_t end);

/// The device that a variable lies on already.
using DeviceOfVariable = std::function<std::optional<int>(std::string_view name)>;

struct SplitOptions {
  int devices = 2;
  RecomputeOptions recompute = {};           ///< as the plan will have them
  DeviceOfVariable device_of_variable = {};  ///< empty: none lies anywhere
};

/// Ways to put a model on several devices, each with some of the work, such that the fullest device
/// needs as little as can be, and then that a step takes little time; the first is likely the best.
/// They are found by a search that counts all that a step keeps on each device: parameters with
/// optimizer slots where they are first read, results, gradients and copies of what other devices
/// send, each for as long as it lives. A device may have several stretches of a pass, as the two
/// ends of a skip connection. The same model always gives the same. Error: fewer nodes than
/// devices.
std::vector<SplitPlacement> split_placements(std::span<const SplitPass> passes,
                                             const SplitOptions& options);

/// Moves the nodes of all passes to their devices, and each variable to the device that reads it
/// first. Error: something is on a device already, by Scope::on(); a pass has another number of
/// nodes than the placement.
void place_split(Graph& graph, const SplitPlacement& placement, std::span<const SplitPass> passes);

}  // namespace belfry
