#pragma once
// The rules that every graph keeps.

#include "belfry/framework/graph/rewrite.h"

namespace belfry {

/// Throws Error (ours) naming the node and the rule it breaks:
///  (1) ids equal positions, inputs come before their reader and are of the same graph;
///  (2) output types are those that the shape rule gives;
///  (3) names of variables and inputs are unique;
///  (4) inputs written in place are variables, and effects have no outputs.
/// Runs after each compiler pass in debug builds and in tests.
void verify(const Graph& graph);
/// As above, and (5) roots belong to the graph; effects are effects.
void verify(const Program& program);

}  // namespace belfry
