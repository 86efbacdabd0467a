#include "belfry/framework/graph/rewrite.h"

#include <utility>

namespace belfry {
namespace {

const Graph* graph_of(std::span<const Tensor> outputs, std::span<Node* const> effects) {
  if (!outputs.empty()) return &outputs[0].graph();
  if (!effects.empty()) return &effects[0]->graph();
  return nullptr;
}

class Copier final : public Rewriting {
 public:
  Copier(const Graph& from, Graph& to, const RewriteRule& rule, const EffectRule& effect_rule)
      : to_(to), rule_(rule), effect_rule_(effect_rule), map_(from.size()) {}

  Graph& graph() override { return to_; }
  const Tensor& operator()(const Tensor& old) override {
    return map_[old.node().id()][old.index()];
  }

  // The nodes that stand for `old`: one, unless rules say otherwise.
  std::vector<Node*> visit(const Node& old) {
    Placement place{old.scope(), old.device(), old.phase(), old.first_row()};
    auto& made = map_[old.id()];
    Graph::PlacementGuard guard(to_, place);
    if (old.op().mutates) {
      std::size_t before = to_.effects().size();
      if (effect_rule_ && effect_rule_(old, *this)) {
        auto added = to_.effects().subspan(before);
        return {added.begin(), added.end()};
      }
    } else if (auto replaced = rule_(old, *this)) {
      made = std::move(*replaced);
      ensure(made.size() == old.outputs().size(), "rewrite: wrong number of outputs for ", old);
      // A root without outputs, such as a send, is replaced by the node that was added last.
      return {made.empty() ? &to_.node(to_.size() - 1) : &made[0].node()};
    }
    Node& copy = to_.add(old.op(), inputs(old), old.options(), place);
    for (int i = 0; i < std::ssize(copy.outputs()); ++i) made.emplace_back(copy, i);
    return {&copy};
  }

 private:
  Graph& to_;
  const RewriteRule& rule_;
  const EffectRule& effect_rule_;
  std::vector<std::vector<Tensor>> map_;
};

Program rewritten(std::span<const Tensor> outputs, std::span<Node* const> effects,
                  const RewriteRule& rule, const EffectRule& effect_rule) {
  Program out{std::make_unique<Graph>(), {}, {}};
  const Graph* from = graph_of(outputs, effects);
  if (!from) return out;
  auto live = live_nodes(*from, outputs, effects);
  Copier copier(*from, *out.graph, rule, effect_rule);
  std::vector<std::vector<Node*>> copies(from->size());
  for (std::size_t i = 0; i < from->size(); ++i)
    if (live[i]) copies[i] = copier.visit(from->node(i));
  for (const Tensor& t : outputs) out.outputs.push_back(copier(t));
  for (Node* n : effects)
    for (Node* copy : copies[n->id()]) out.effects.push_back(copy);
  return out;
}

}  // namespace

std::vector<Tensor> Rewriting::inputs(const Node& old) {
  std::vector<Tensor> out;
  out.reserve(old.inputs().size());
  for (const Tensor& t : old.inputs()) out.push_back((*this)(t));
  return out;
}

std::vector<bool> live_nodes(const Graph& graph, std::span<const Tensor> outputs,
                             std::span<Node* const> effects) {
  std::vector<bool> live(graph.size());
  for (const Tensor& t : outputs) live[t.node().id()] = true;
  for (const Node* n : effects) live[n->id()] = true;
  for (std::size_t i = graph.size(); i-- > 0;)
    if (live[i])
      for (const Tensor& t : graph.node(i).inputs()) live[t.node().id()] = true;
  return live;
}

std::vector<std::vector<int>> use_counts(const Program& program) {
  std::vector<std::vector<int>> counts(program.graph->size());
  auto live = live_nodes(*program.graph, program.outputs, program.effects);
  for (const auto& node : *program.graph) counts[node->id()].resize(node->outputs().size());
  auto count = [&](const Tensor& t) { ++counts[t.node().id()][t.index()]; };
  for (const auto& node : *program.graph)
    if (live[node->id()])
      for (const Tensor& t : node->inputs()) count(t);
  for (const Tensor& t : program.outputs) count(t);
  return counts;
}

Program rewrite(std::span<const Tensor> outputs, std::span<Node* const> effects,
                const RewriteRule& rule) {
  return rewritten(outputs, effects, rule, {});
}

Program rewrite(const Program& program, const RewriteRule& rule, const EffectRule& effect_rule) {
  return rewritten(program.outputs, program.effects, rule, effect_rule);
}

}  // namespace belfry
