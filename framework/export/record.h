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

/// The graph and outputs that a model built for a batch of so many rows.
struct Instance {
  std::int64_t rows = 0;
  const Graph* graph = nullptr;
  std::vector<std::pair<std::string, Tensor>> outputs;
};

/// The part of the graphs that the outputs need, and all inputs, for any number of rows. The
/// instances are of one model for three different numbers: a number in a shape or an option that
/// differs between them must be linear in n. Two points would give a line through anything; the
/// third one tells that it is one.
///
/// Error, naming the node: the instances differ in more than such numbers.
Signature record(std::span<const Instance> instances);

}  // namespace belfry::saved
