#pragma once
// Graphs as text and as Graphviz dot.

#include <string>

#include "belfry/framework/graph/graph.h"

namespace belfry {

/// One line a node: `%3 = conv2d(%0, %1) stride=[1, 1] : f32[8, 14, 14, 32]  # conv1`.
std::string to_text(const Graph& graph);

/// For `dot -Tsvg`: nodes grouped by the first part of their scope, edges labelled with types.
std::string to_dot(const Graph& graph);

}  // namespace belfry
