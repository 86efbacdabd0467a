#pragma once
// The sum over towers of gradients that touch few rows of a large table. Internal to train/.

#include <cstdint>

#include "belfry/framework/graph/graph.h"

namespace belfry {

/// Rows of a step.
struct SparseRows {
  std::int64_t own = 0;   ///< of this tower
  std::int64_t most = 0;  ///< the largest number of any tower; it may look up as much for each
  bool even = true;       ///< all towers have as many
  bool alike = true;      ///< their batches differ in the number of rows at most
};

/// Whether this is the gradient of a table that rows were looked up in (embedding_lookup, gather
/// along axis 0), larger than the rows and indices of all towers together. The answer is the same
/// on all towers: where they have other numbers of rows, only look-ups of a feature count, of which
/// each row has as many; where their batches differ otherwise, none do.
bool sums_sparsely(const Tensor& gradient, const SparseRows& rows);
/// The part of a sum that a tower adds: nothing if it computes on a row that it was lent.
Tensor own_part(Tensor x, const SparseRows& rows);
/// tower_sum() of a gradient that sums_sparsely(), by exchanging the rows and their indices.
Tensor sparse_tower_sum(const Tensor& gradient, const SparseRows& rows);

}  // namespace belfry
