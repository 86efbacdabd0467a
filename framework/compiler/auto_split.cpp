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

using Devices = std::vector<int>;  // of each node of a pass

// Walks from one placement to better ones, a stretch of nodes at a time.
class Search {
 public:
  Search(const SplitCosts& costs, int devices, double worth_of_time)
      : costs_(costs), devices_(devices), worth_of_time_(worth_of_time), best_(even()) {
    score_ = score(best_);
  }

  Devices run() {
    while (tries_ < most_tries && (shift_borders() || move_stretches())) {
    }
    return best_;
  }

 private:
  static constexpr int most_tries = 6000, borders = 24;

  // Runs in graph order with about as much work each.
  Devices even() const {
    const std::vector<double>& work = costs_.work();
    double total = std::accumulate(work.begin(), work.end(), 0.0), sum = 0;
    Devices out;
    for (std::size_t i = 0; i < work.size(); ++i) {
      // Whatever the work, no device is left without a node.
      int left = work.size() - i, at_least = devices_ - left;
      int here = static_cast<int>((sum + work[i] / 2) / total * devices_);
      int before = out.empty() ? 0 : out.back();
      int most = out.empty() ? 0 : before + 1;
      out.push_back(std::clamp(here, std::max(before, at_least), std::min(most, devices_ - 1)));
      sum += work[i];
    }
    return out;
  }

  // The logarithm of what the devices need, the fullest above all, and a little of time. A device
  // without work is worse than anything.
  double score(const Devices& device_of) {
    ++tries_;
    SplitCosts::Cost cost = costs_.of(device_of);
    constexpr double power = 8;
    double most = static_cast<double>(*std::ranges::max_element(cost.bytes)) + 1, sum = 0;
    for (std::int64_t bytes : cost.bytes) sum += std::pow((bytes + 1) / most, power);
    return std::log(most) + std::log(sum) / power + worth_of_time_ * std::log(cost.seconds)
           + 100.0 * cost.idle_devices;
  }

  bool improves(const Devices& device_of) {
    double now = score(device_of);
    if (!(now < score_ - 1e-6)) return false;
    best_ = device_of;
    score_ = now;
    return true;
  }

  bool move(std::size_t begin, std::size_t end, int device) {
    Devices moved = best_;
    std::fill(moved.begin() + begin, moved.begin() + end, device);
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

  // Gives a stretch to another device, wherever it lies.
  bool move_stretches() {
    bool any = false;
    std::size_t n = best_.size();
    std::vector<std::size_t> marks;
    for (std::size_t i = 0; i <= borders; ++i) marks.push_back(i * n / borders);
    for (std::size_t i = 0; i < n; ++i)
      if (i > 0 && best_[i] != best_[i - 1]) marks.push_back(i);
    std::ranges::sort(marks);
    marks.erase(std::unique(marks.begin(), marks.end()), marks.end());
    for (std::size_t a = 0; a < marks.size(); ++a)
      for (std::size_t b = a + 1; b < marks.size(); ++b)
        for (int device = 0; device < devices_ && tries_ < most_tries; ++device)
          any = move(marks[a], marks[b], device) || any;
    return any;
  }

  const SplitCosts& costs_;
  int devices_, tries_ = 0;
  double worth_of_time_;
  Devices best_;
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

std::string describe_split(const SplitPlacement& placement, std::span<Node* const> nodes) {
  struct DeviceWork {
    double flops = 0;
    std::vector<std::string> stretches;
  };
  std::map<int, DeviceWork> devices;
  for (std::size_t begin = 0, end = 0; begin < nodes.size(); begin = end) {
    DeviceWork& device = devices[placement.device_of[begin]];
    for (; end < nodes.size() && placement.device_of[end] == placement.device_of[begin]; ++end)
      if (const OpDef& op = nodes[end]->op(); op.flops) device.flops += op.flops(*nodes[end]);
    device.stretches.push_back(name_of(nodes, begin, end));
  }
  std::vector<std::string> parts;
  for (const auto& [number, device] : devices) {
    char gflop[32];
    std::snprintf(gflop, sizeof gflop, "%.3g", device.flops / 1e9);
    parts.push_back(concat("device ", number, ": ", gflop, " GFLOP forward, ",
                           join(device.stretches, " and ")));
  }
  return join(parts, "; ");
}

std::vector<Node*> computing_nodes(const Graph& graph, std::size_t begin, std::size_t end) {
  std::vector<Node*> out;
  for (std::size_t i = begin; i < end; ++i)
    if (!is_leaf(graph.node(i))) out.push_back(&graph.node(i));
  return out;
}

std::vector<SplitPlacement> split_placements(std::span<const SplitPass> passes,
                                             const SplitOptions& options) {
  int devices = options.devices;
  std::size_t nodes = passes[0].nodes.size();
  require(nodes >= static_cast<std::size_t>(devices), "split: the model has ", nodes,
          " operations, which cannot be cut into ", devices, " devices");
  for (const SplitPass& pass : passes)
    require(pass.nodes.size() == nodes, "split: model_fn builds ", nodes,
            " operations for one batch and ", pass.nodes.size(),
            " for another; place them by Scope::on()");
  std::vector<SplitPlacement> placements;
  auto add = [&](const SplitCosts& costs, double worth_of_time) {
    SplitPlacement placement{Search(costs, devices, worth_of_time).run()};
    auto same = [&](const SplitPlacement& other) { return other.device_of == placement.device_of; };
    if (std::ranges::none_of(placements, same)) placements.push_back(std::move(placement));
  };
  SplitCosts costs(passes, options);
  for (double worth_of_time : {0.1, 0.0, 0.4}) add(costs, worth_of_time);
  // A device may have less to compute again than all of the model would.
  if (options.recompute.cheap || !options.recompute.scopes.empty()) {
    SplitOptions all_kept = options;
    all_kept.recompute = {.cheap = false};
    add(SplitCosts(passes, all_kept), 0.1);
  }
  for (SplitPlacement& placement : placements)
    placement.seconds = costs.of(placement.device_of).seconds;
  return placements;
}

void place_split(Graph& graph, const SplitPlacement& placement, std::span<const SplitPass> passes) {
  for (const auto& node : graph)
    require(node->device() == 0, "split: the model itself places ", *node, " on device ",
            node->device(), "; leave out RunConfig::split, or every call of Scope::on()");
  for (const SplitPass& pass : passes)
    require(pass.nodes.size() == placement.device_of.size(), "split: model_fn builds ",
            placement.device_of.size(), " operations for one batch and ", pass.nodes.size(),
            " for another; place them by Scope::on()");
  for (const SplitPass& pass : passes)
    for (std::size_t i = 0; i < pass.nodes.size(); ++i)
      graph.place(*pass.nodes[i], placement.device_of[i]);
  std::set<const Node*> placed;
  for (const auto& node : graph)
    for (const Tensor& t : node->inputs())
      if (t.node().is(variable_op) && placed.insert(&t.node()).second)
        graph.place(t.node(), node->device());
}

}  // namespace belfry
