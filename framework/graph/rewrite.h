#pragma once
// Graph to graph.

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "belfry/framework/graph/graph.h"

namespace belfry {

/// A graph with what is wanted of it: values to compute and effects to run (or reductions over
/// towers to take part in). What no root needs does
/// not exist for the compiler.
struct Program {
  std::unique_ptr<Graph> graph;
  std::vector<Tensor> outputs;
  std::vector<Node*> effects;
};

/// The context of a rewriting rule, besides the old node.
class Rewriting {
 public:
  virtual ~Rewriting() = default;
  virtual Graph& graph() = 0;  ///< the new graph
  virtual const Tensor& operator()(
      const Tensor& old) = 0;  ///< what stands for an earlier node's output
  /// The tensors that stand for the node's inputs.
  std::vector<Tensor> inputs(const Node& old);
};

/// Decides what becomes of one node: the tensors of the new graph that stand for its outputs, or
/// nothing to copy it.
using RewriteRule =
    std::function<std::optional<std::vector<Tensor>>(const Node& old, Rewriting& to)>;

/// Decides what becomes of an effect: true if it has added those that take its place to the new
/// graph, false to copy it.
using EffectRule = std::function<bool(const Node& old, Rewriting& to)>;

/// The part of `graph` that the roots need, copied through `rule` in topological order. New nodes
/// take the place of the node they stand for. Effects are copied unless there is a rule for them.
Program rewrite(std::span<const Tensor> outputs, std::span<Node* const> effects,
                const RewriteRule& rule);
Program rewrite(const Program& program, const RewriteRule& rule,
                const EffectRule& effect_rule = {});

/// For each node by id: whether a root needs it.
std::vector<bool> live_nodes(const Graph& graph, std::span<const Tensor> outputs,
                             std::span<Node* const> effects);

/// For each node by id, for each output: how many inputs of live nodes, and roots, read it.
std::vector<std::vector<int>> use_counts(const Program& program);

}  // namespace belfry
