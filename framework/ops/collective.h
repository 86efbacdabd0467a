#pragma once
// Sums over the towers that run a model together. In a graph of one tower they are the identity and
// make no node.

#include <string>
#include <vector>

#include "belfry/framework/graph/graph.h"

namespace belfry {

/// The sum over all towers of each tensor, the same bits on every tower; of one floating or signed
/// dtype. One reduction: it begins when the last tensor is there, and runs beside what does not
/// read it. Every tower must reach it. Differentiable: the gradient is summed over the towers too.
///@{
std::vector<Tensor> tower_sum(std::vector<Tensor> tensors, std::string name = "tower_sum");
Tensor tower_sum(Tensor x);
///@}

/// The mean over towers, weighted by their rows: a tower without rows weighs nothing. Floating.
///@{
std::vector<Tensor> tower_mean(std::vector<Tensor> tensors, std::string name = "tower_mean");
Tensor tower_mean(Tensor x);
///@}

/// bool []: whether this tower has rows. One without computes on any one row, and what comes of
/// that must not count.
Tensor tower_has_rows(Graph& graph);
/// x, but zeros on a tower without rows, where x may be NaN.
Tensor zero_without_rows(Tensor x);

/// Options of all_reduce_op.
struct AllReduceOptions {
  std::string name;  ///< for messages
  BELFRY_FIELDS(name)
};
extern const OpDef all_reduce_op;  ///< the op of tower_sum()

}  // namespace belfry
