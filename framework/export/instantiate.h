#pragma once
// From a saved graph to a graph.

#include <memory>
#include <vector>

#include "belfry/framework/export/saved_graph.h"
#include "belfry/framework/graph/graph.h"

namespace belfry::saved {

/// A graph for batches of one size.
struct GraphOf {
  std::unique_ptr<Graph> graph;
  std::vector<Tensor> outputs;  ///< in the order of Signature::outputs
};

/// Everything that the nodes say is checked: ops, options, operands, types. Error naming the node,
/// what it says and what was expected; any signature at all gives a graph or an Error. More steps
/// than Signature::most_steps are one.
GraphOf instantiate(const Signature& signature, const BatchSize& batch);

}  // namespace belfry::saved
