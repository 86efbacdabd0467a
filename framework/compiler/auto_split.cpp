#include "belfry/framework/compiler/auto_split.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <map>
#include <numeric>
#include <set>

#include "belfry/framework/compiler/split_costs.h"

namespace belfry {
namespace {

using Slots = std::vector<int>;  // of each node of a pass

// Walks from one placement to better ones, a stretch of nodes at a time.
class Search {
 public:
  Search(const SplitCosts& costs, int slots, double worth_of_time)
      : costs_(costs), slots_(slots), worth_of_time_(worth_of_time), best_(even()) {
    score_ = score(best_);
  }

  Slots run() {
    while (tries_ < most_tries && (shift_borders() || move_stretches())) {
    }
    return best_;
  }

 private:
  static constexpr int most_tries = 6000, places = 24;

  // Runs in graph order with about as much work each.
  Slots even() const {
    const std::vector<double>& work = costs_.work();
    double total = std::accumulate(work.begin(), work.end(), 0.0), sum = 0;
    Slots out;
    for (std::size_t i = 0; i < work.size(); ++i) {
      // Whatever the work, no slot is left without a node.
      int left = work.size() - i, at_least = slots_ - left;
      int here = static_cast<int>((sum + work[i] / 2) / total * slots_);
      int before = out.empty() ? 0 : out.back();
      int most = out.empty() ? 0 : before + 1;
      out.push_back(std::clamp(here, std::max(before, at_least), std::min(most, slots_ - 1)));
      sum += work[i];
    }
    return out;
  }

  // The logarithm of what the devices need, the fullest above all, and a little of time. A slot
  // without work is worse than anything.
  double score(const Slots& slot_of) {
    ++tries_;
    SplitCosts::Cost cost = costs_.of(slot_of);
    constexpr double power = 8;
    double most = static_cast<double>(*std::ranges::max_element(cost.bytes)) + 1, sum = 0;
    for (std::int64_t bytes : cost.bytes) sum += std::pow((bytes + 1) / most, power);
    return std::log(most) + std::log(sum) / power + worth_of_time_ * std::log(cost.seconds)
           + 100.0 * cost.idle_slots;
  }

  bool improves(const Slots& slot_of) {
    double now = score(slot_of);
    if (!(now < score_ - 1e-6)) return false;
    best_ = slot_of;
    score_ = now;
    return true;
  }

  bool move(std::size_t begin, std::size_t end, int slot) {
    Slots moved = best_;
    std::fill(moved.begin() + begin, moved.begin() + end, slot);
    return moved != best_ && improves(moved);
  }

  // Moves the borders between stretches, by much and by little.
  bool shift_borders() {
    bool any = false;
    std::size_t n = best_.size();
    for (std::size_t by = std::max<std::size_t>(n / 8, 1); by > 0; by /= 2)
      for (std::size_t i = 1; i < n && tries_ < most_tries; ++i) {
        if (best_[i] == best_[i - 1]) continue;
        bool forward = move(i, std::min(i + by, n), best_[i - 1]);
        any = forward || (i >= by && move(i - by, i, best_[i])) || any;
      }
    return any;
  }

  // Gives a stretch to another slot, wherever it lies.
  bool move_stretches() {
    bool any = false;
    std::size_t n = best_.size();
    std::vector<std::size_t> marks;
    for (std::size_t i = 0; i <= places; ++i) marks.push_back(i * n / places);
    for (std::size_t i = 0; i < n; ++i)
      if (i > 0 && best_[i] != best_[i - 1]) marks.push_back(i);
    std::ranges::sort(marks);
    marks.erase(std::unique(marks.begin(), marks.end()), marks.end());
    for (std::size_t a = 0; a < marks.size(); ++a)
      for (std::size_t b = a + 1; b < marks.size(); ++b)
        for (int slot = 0; slot < slots_ && tries_ < most_tries; ++slot)
          any = move(marks[a], marks[b], slot) || any;
    return any;
  }

  const SplitCosts& costs_;
  int slots_, tries_ = 0;
  double worth_of_time_;
  Slots best_;
  double score_ = 0;
};

// "down/a to bottom"
std::string name_of(std::span<Node* const> nodes, std::size_t begin, std::size_t end) {
  auto name = [](const Node& node) {
    return node.scope().empty() ? std::string(node.op().name) : node.scope();
  };
  std::string first = name(*nodes[begin]), last = name(*nodes[end - 1]);
  return first == last ? first : concat(first, " to ", last);
}

}  // namespace

std::string describe_split(const SplitPlan& plan, std::span<Node* const> nodes) {
  struct Slot {
    double flops = 0;
    std::vector<std::string> stretches;
  };
  std::map<int, Slot> slots;
  for (std::size_t begin = 0, end = 0; begin < nodes.size(); begin = end) {
    Slot& slot = slots[plan.slot_of[begin]];
    for (; end < nodes.size() && plan.slot_of[end] == plan.slot_of[begin]; ++end)
      if (const OpDef& op = nodes[end]->op(); op.flops) slot.flops += op.flops(*nodes[end]);
    slot.stretches.push_back(name_of(nodes, begin, end));
  }
  std::vector<std::string> parts;
  for (const auto& [number, slot] : slots) {
    char gflop[32];
    std::snprintf(gflop, sizeof gflop, "%.3g", slot.flops / 1e9);
    parts.push_back(
        concat("slot ", number, ": ", gflop, " GFLOP forward, ", join(slot.stretches, " and ")));
  }
  return join(parts, "; ");
}

std::vector<Node*> computing_nodes(const Graph& graph, std::size_t begin, std::size_t end) {
  std::vector<Node*> out;
  for (std::size_t i = begin; i < end; ++i)
    if (!is_leaf(graph.node(i))) out.push_back(&graph.node(i));
  return out;
}

std::vector<SplitPlan> plan_split(std::span<const SplitPass> passes, const SplitOptions& options) {
  int slots = options.slots;
  std::size_t nodes = passes[0].nodes.size();
  require(nodes >= static_cast<std::size_t>(slots), "split: the model has ", nodes,
          " operations, which cannot be cut into ", slots, " slots");
  for (const SplitPass& pass : passes)
    require(pass.nodes.size() == nodes, "split: model_fn builds ", nodes,
            " operations for one batch and ", pass.nodes.size(),
            " for another; place them by Scope::on()");
  std::vector<SplitPlan> plans;
  auto add = [&](const SplitCosts& costs, double worth_of_time) {
    SplitPlan plan{Search(costs, slots, worth_of_time).run()};
    auto same = [&](const SplitPlan& other) { return other.slot_of == plan.slot_of; };
    if (std::ranges::none_of(plans, same)) plans.push_back(std::move(plan));
  };
  SplitCosts costs(passes, options);
  for (double worth_of_time : {0.1, 0.0, 0.4}) add(costs, worth_of_time);
  // A device may have less to compute again than all of the model would.
  if (options.recompute.cheap || !options.recompute.scopes.empty()) {
    SplitOptions all_kept = options;
    all_kept.recompute = {.cheap = false};
    add(SplitCosts(passes, all_kept), 0.1);
  }
  for (SplitPlan& plan : plans) plan.seconds = costs.of(plan.slot_of).seconds;
  return plans;
}

void place_split(Graph& graph, const SplitPlan& plan, std::span<const SplitPass> passes) {
  for (const auto& node : graph)
    require(node->slot() == 0, "split: the model itself places ", *node, " on slot ", node->slot(),
            "; leave out RunConfig::split, or every call of Scope::on()");
  for (const SplitPass& pass : passes)
    require(pass.nodes.size() == plan.slot_of.size(), "split: model_fn builds ",
            plan.slot_of.size(), " operations for one batch and ", pass.nodes.size(),
            " for another; place them by Scope::on()");
  for (const SplitPass& pass : passes)
    for (std::size_t i = 0; i < pass.nodes.size(); ++i)
      graph.place(*pass.nodes[i], plan.slot_of[i]);
  std::set<const Node*> placed;
  for (const auto& node : graph)
    for (const Tensor& t : node->inputs())
      if (t.node().is(variable_op) && placed.insert(&t.node()).second)
        graph.place(t.node(), node->slot());
}

}  // namespace belfry
