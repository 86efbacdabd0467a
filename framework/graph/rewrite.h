#pragma once
// Graph to graph.

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "belfry/framework/graph/graph.h"

namespace belfry {

/// A graph with what is wanted of it: values to compute and effects to run. What no root needs does
/// not exist for the compiler.
struct Program {
  std::unique_ptr<Graph> graph;
  std::vector<Tensor> outputs;
  std::vector<Node*> effects;
};

/// Decides what becomes of one node: the tensors that stand for its outputs in the new graph (which
/// it may have made there), or nothing to copy it. `inputs` are the node's inputs in the new graph.
using RewriteRule = std::function<std::optional<std::vector<Tensor>>(
    const Node& old, std::span<const Tensor> inputs, Graph& out)>;

/// The part of `graph` that the roots need, copied through `rule` in topological order. New nodes
/// take the place of the node they stand for. Effects are copied, never replaced.
Program rewrite(std::span<const Tensor> outputs, std::span<Node* const> effects,
                const RewriteRule& rule);
Program rewrite(const Program& program, const RewriteRule& rule);

/// For each node by id: whether a root needs it.
std::vector<bool> live_nodes(const Graph& graph, std::span<const Tensor> outputs,
                             std::span<Node* const> effects);

/// For each node by id, for each output: how many inputs of live nodes, and roots, read it.
std::vector<std::vector<int>> use_counts(const Program& program);

}  // namespace belfry
