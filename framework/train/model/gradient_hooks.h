#pragma once
// The two ends of the chain of gradient hooks. Internal to train/.

#include <cstdint>
#include <memory>

#include "belfry/framework/train/hook.h"

namespace belfry {

struct AverageOptions {
  Bytes bucket = Bytes(4 << 20);  ///< gradients are summed in pieces of about this size
  std::int64_t rows = 1;          ///< of this tower; one without any computes on one
  std::int64_t most_rows = 1;     ///< of any tower
  bool even_rows = true;          ///< all towers have as many
  bool alike = true;              ///< their batches differ in the number of rows at most
};
/// First of the gradient hooks: gradients become their sum over towers, each tower's being weighted
/// by its rows already. They are summed in the backward order of their variables; a bucket's sum is
/// under way while the backward pass goes on. Where rows were looked up in a large table, the rows
/// of its gradient are exchanged with their indices.
std::shared_ptr<Hook> average_gradients(const AverageOptions& options);

/// Last of them: adds the nodes of the optimizer.
std::shared_ptr<Hook> apply_gradients();

}  // namespace belfry
