#pragma once
// The sum over towers of gradients that touch few rows of a large table. Internal to train/.

#include <cstdint>

#include "belfry/framework/graph/graph.h"

namespace belfry {

/// tower_sum() of the gradient of a table that rows were looked up in (embedding_lookup, gather
/// along axis 0), by exchanging the rows and their indices instead of the table. Undefined when the
/// gradient is none, or the table is no larger than what would be exchanged. `rows` is this tower's
/// number of rows, `most_rows` the largest of all towers: the others may look up as many each.
Tensor sparse_tower_sum(Tensor gradient, std::int64_t rows, std::int64_t most_rows);

}  // namespace belfry
