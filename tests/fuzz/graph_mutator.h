#pragma once
// Changes a graph.json as a graph: what gets past the first checks of its parser is most often one
// that makes sense.

#include <cstddef>
#include <cstdint>

#include "belfry/framework/export/saved_graph.h"

namespace belfry {

/// The weights that the graphs may name.
const NamedArrays& graph_weights();

/// The body of an LLVMFuzzerCustomMutator(): other ops, operands, options, types and nodes. Most
/// often the types of all nodes are then made to be those that follow from their operands.
std::size_t mutate_graph(std::uint8_t* data, std::size_t size, std::size_t max_size, unsigned seed);

}  // namespace belfry
