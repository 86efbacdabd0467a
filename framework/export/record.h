#pragma once
// From a graph to a saved one.

#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "belfry/framework/export/saved_graph.h"
#include "belfry/framework/graph/graph.h"

namespace belfry::saved {

/// The graph and outputs that a model built for a batch of this size.
struct Instance {
  BatchSize batch;
  const Graph* graph = nullptr;
  std::vector<std::pair<std::string, Tensor>> outputs;
};

/// The sizes for which record() needs instances of a model, whose steps are at most `most_steps`
/// (0: it has none). Error: fewer steps than 4.
std::vector<BatchSize> sizes_to_record(std::int64_t most_steps);

/// The part of the graphs that the outputs need, and all inputs, for a batch of any size. The
/// instances are of one model for sizes_to_record(): a number in a shape or an option that differs
/// between them must be an Extent. The fewest points that give one would give one through anything;
/// those beyond tell that it is one, as far as they show it.
///
/// Error, naming the node: the instances differ in more than such numbers.
Signature record(std::span<const Instance> instances);

}  // namespace belfry::saved
