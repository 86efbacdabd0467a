#include "belfry/framework/compiler/auto_split.h"

#include <algorithm>
#include <cstdio>
#include <limits>
#include <map>
#include <set>

#include "belfry/framework/graph/rewrite.h"
#include "belfry/framework/ops/gradients.h"

namespace belfry {
namespace {

constexpr double unreachable = std::numeric_limits<double>::infinity();
constexpr double tolerance = 1.1;  // how much heavier a slot may be where fewer bytes cross

Tensor owner(Tensor t) {
  while (t.node().op().view) t = t.node().input(0);
  return t;
}

// The values that gradients read, found by building them in a copy of the graph.
std::vector<Tensor> kept_for_backward(std::span<const SplitTarget> targets) {
  std::vector<Tensor> roots;
  for (const SplitTarget& target : targets) {
    roots.push_back(target.loss);
    roots.insert(roots.end(), target.variables.begin(), target.variables.end());
  }
  std::vector<Node*> originals;  // by id of the copy
  Program copy = rewrite(roots, {}, [&](const Node& old, Rewriting&) {
    originals.push_back(&old.graph().node(static_cast<std::size_t>(old.id())));
    return std::optional<std::vector<Tensor>>();
  });
  std::size_t next = 0;
  for (const SplitTarget& target : targets) {
    std::span<const Tensor> variables(copy.outputs.data() + next + 1, target.variables.size());
    gradients(copy.outputs[next], variables);
    next += 1 + target.variables.size();
  }
  std::vector<Tensor> kept;
  for (std::size_t i = originals.size(); i < copy.graph->size(); ++i)
    for (const Tensor& t : copy.graph->node(i).inputs()) {
      auto id = static_cast<std::size_t>(t.node().id());
      if (id < originals.size()) kept.push_back(owner(Tensor(*originals[id], t.index())));
    }
  std::sort(kept.begin(), kept.end());
  kept.erase(std::unique(kept.begin(), kept.end()), kept.end());
  return kept;
}

// One forward pass as numbers: sums up to each node, and what crosses between nodes.
class Costs {
 public:
  Costs(std::span<Node* const> nodes, std::span<const SplitTarget> targets, int passes)
      : flops_(nodes.size() + 1), bytes_(nodes.size() + 1), crossing_(nodes.size() + 1) {
    std::map<const Node*, std::size_t> position;
    for (std::size_t i = 0; i < nodes.size(); ++i) position[nodes[i]] = i;
    for (const Tensor& t : kept_for_backward(targets))
      if (auto at = position.find(&t.node()); at != position.end())
        bytes_[at->second + 1] += static_cast<double>(t.type().bytes()) * passes;
    add_leaves_and_crossings(nodes, targets, position);
    for (std::size_t i = 0; i < nodes.size(); ++i) {
      const OpDef& op = nodes[i]->op();
      flops_[i + 1] = flops_[i] + (op.flops ? op.flops(*nodes[i]) : 0);
      bytes_[i + 1] += bytes_[i];
      crossing_[i + 1] += crossing_[i];
    }
  }

  double load(std::size_t begin, std::size_t end) const {
    return std::max(share(flops_, begin, end), share(bytes_, begin, end));
  }
  double crossing(std::size_t cut) const { return crossing_[cut]; }
  SplitPlan::Slot slot(std::size_t begin, std::size_t end) const {
    return {flops_[end] - flops_[begin], static_cast<std::int64_t>(bytes_[end] - bytes_[begin])};
  }

 private:
  static double share(const std::vector<double>& sums, std::size_t begin, std::size_t end) {
    return sums.back() > 0 ? (sums[end] - sums[begin]) / sums.back() : 0;
  }

  // A value crosses every cut between where it is made and where it is last read.
  void add_leaves_and_crossings(std::span<Node* const> nodes, std::span<const SplitTarget> targets,
                                const std::map<const Node*, std::size_t>& position) {
    std::map<Tensor, std::pair<std::size_t, std::size_t>> lives;
    for (std::size_t i = 0; i < nodes.size(); ++i)
      for (const Tensor& t : nodes[i]->inputs()) {
        auto made = position.find(&t.node());
        bool variable = t.node().is(variable_op);
        if (made == position.end() && !variable) continue;
        auto [life, fresh] = lives.try_emplace(t, variable ? i : made->second, i);
        life->second.second = i;
        if (fresh && variable) bytes_[i + 1] += bytes_of_variable(Variable(t.node()), targets);
      }
    for (const auto& [t, life] : lives) {
      if (life.first == life.second) continue;
      auto bytes = static_cast<double>(t.type().bytes());
      crossing_[life.first + 1] += bytes;
      crossing_[life.second + 1] -= bytes;
    }
  }

  static double bytes_of_variable(const Variable& variable, std::span<const SplitTarget> targets) {
    double copies = 1;
    for (const SplitTarget& target : targets)
      if (std::find(target.variables.begin(), target.variables.end(), variable)
          != target.variables.end())
        copies += 1 + target.optimizer_slots;
    return copies * static_cast<double>(variable.type().bytes());
  }

  std::vector<double> flops_, bytes_, crossing_;  // crossing_[c]: of a cut before node c
};

// The ends of `slots` runs of `count` nodes that make the worst (or the sum) of their costs least;
// cost(begin, end) of a run that may not be is infinite.
template <class Cost, class Join>
std::vector<std::size_t> best_ends(std::size_t count, std::size_t slots, Cost cost, Join join) {
  std::vector best(slots + 1, std::vector<double>(count + 1, unreachable));
  std::vector from(slots + 1, std::vector<std::size_t>(count + 1));
  best[0][0] = 0;
  for (std::size_t s = 1; s <= slots; ++s)
    for (std::size_t end = s; end <= count; ++end)
      for (std::size_t begin = s - 1; begin < end; ++begin) {
        if (best[s - 1][begin] == unreachable) continue;
        double total = join(best[s - 1][begin], cost(begin, end));
        if (total < best[s][end]) best[s][end] = total, from[s][end] = begin;
      }
  std::vector<std::size_t> ends(slots);
  std::size_t end = count;
  for (std::size_t s = slots; s > 0; end = from[s--][end]) ends[s - 1] = end;
  return ends;
}

}  // namespace

std::string to_string(const SplitPlan& plan) {
  std::vector<std::string> parts;
  for (std::size_t s = 0; s < plan.slots.size(); ++s) {
    char gflop[32];
    std::snprintf(gflop, sizeof gflop, "%.3g", plan.slots[s].flops / 1e9);
    parts.push_back(concat("slot ", s, ": ", gflop, " GFLOP, ", bytes_text(plan.slots[s].bytes)));
  }
  return join(parts, "; ");
}

std::vector<Node*> computing_nodes(const Graph& graph, std::size_t begin, std::size_t end) {
  std::vector<Node*> out;
  for (std::size_t i = begin; i < end; ++i)
    if (!is_leaf(graph.node(i))) out.push_back(&graph.node(i));
  return out;
}

SplitPlan plan_split(std::span<Node* const> nodes, int slots, std::span<const SplitTarget> targets,
                     int passes) {
  auto n = static_cast<std::size_t>(slots);
  require(nodes.size() >= n, "split: the model has ", nodes.size(),
          " operations, which cannot be cut into ", slots, " slots");
  Costs costs(nodes, targets, passes);
  auto load = [&](std::size_t begin, std::size_t end) { return costs.load(begin, end); };
  auto worse = [](double a, double b) { return std::max(a, b); };
  double heaviest = 0;
  std::size_t begin = 0;
  for (std::size_t end : best_ends(nodes.size(), n, load, worse)) {
    heaviest = std::max(heaviest, load(begin, end));
    begin = end;
  }
  auto crossing = [&](std::size_t from, std::size_t to) {
    return load(from, to) <= heaviest * tolerance ? costs.crossing(from) : unreachable;
  };
  SplitPlan plan{.slots = {}, .cuts = {}, .nodes = nodes.size()};
  begin = 0;
  for (std::size_t end : best_ends(nodes.size(), n, crossing, std::plus<>())) {
    plan.slots.push_back(costs.slot(begin, end));
    if (end < nodes.size()) plan.cuts.push_back(end);
    begin = end;
  }
  return plan;
}

void place_split(Graph& graph, const SplitPlan& plan, std::span<const std::vector<Node*>> passes) {
  for (const auto& node : graph)
    require(node->slot() == 0, "split: the model itself places ", *node, " on slot ", node->slot(),
            "; leave out RunConfig::split, or every call of Scope::on()");
  for (const std::vector<Node*>& nodes : passes)
    require(nodes.size() == plan.nodes, "split: model_fn builds ", plan.nodes,
            " operations for one batch and ", nodes.size(),
            " for another; place them by Scope::on()");
  for (const std::vector<Node*>& nodes : passes)
    for (std::size_t i = 0; i < nodes.size(); ++i) {
      auto slot = std::upper_bound(plan.cuts.begin(), plan.cuts.end(), i) - plan.cuts.begin();
      graph.place(*nodes[i], static_cast<int>(slot));
    }
  std::set<const Node*> placed;
  for (const auto& node : graph)
    for (const Tensor& t : node->inputs())
      if (t.node().is(variable_op) && placed.insert(&t.node()).second)
        graph.place(t.node(), node->slot());
}

}  // namespace belfry
