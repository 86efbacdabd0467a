#pragma once
// Runs graphs by the reference kernels of their ops.

#include "belfry/framework/graph/graph.h"

namespace belfry {

/// Runs all nodes of `graph` on some numbers, unless that would take long. Error: as the kernels'.
void run_if_small(const Graph& graph);

}  // namespace belfry
