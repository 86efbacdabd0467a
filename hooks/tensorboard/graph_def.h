#pragma once
// A graph as TensorBoard shows it.

#include <cstddef>
#include <vector>

#include "belfry/framework/graph/graph.h"

namespace belfry::hooks {

/// The graph as a serialized GraphDef of TensorFlow's (core/framework/graph.proto): a node for each
/// of ours, with its op, inputs, options as text, and the shapes of its outputs. Names are scope
/// paths, so that TensorBoard folds scopes into boxes; what computes gradients stands under
/// `gradients/`. Nothing runs such a graph: the ops are Belfry's.
std::vector<std::byte> graph_def(const Graph& graph);

}  // namespace belfry::hooks
