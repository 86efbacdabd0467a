#include <algorithm>
#include <deque>
#include <map>

#include "belfry/framework/compiler/passes.h"
#include "belfry/framework/ops/transfer.h"

namespace belfry {
namespace {

using Order = std::vector<const Node*>;

// A value that is reduced over towers is sent when it is read, as it is not there before.
Order with_early_sends(const Order& order) {
  auto goes_early = [](const Node* node) {
    return node->is(send_op) && !node->input(0).node().op().collective;
  };
  std::multimap<const Node*, const Node*> sends;  // by who makes the value
  for (const Node* node : order)
    if (goes_early(node)) sends.emplace(&node->input(0).node(), node);
  Order out;
  for (const Node* node : order) {
    if (goes_early(node)) continue;
    out.push_back(node);
    for (auto [at, end] = sends.equal_range(node); at != end; ++at) out.push_back(at->second);
  }
  return out;
}

Order with_early_collectives(const Order& order, std::size_t graph_size) {
  std::deque<const Node*> collectives;
  for (const Node* node : order)
    if (node->op().collective) collectives.push_back(node);
  if (collectives.empty()) return order;
  std::vector<bool> made(graph_size);
  Order out;
  auto add = [&](const Node* node) {
    made[node->id()] = true;
    out.push_back(node);
  };
  auto ready = [&](const Node& node) {
    return std::ranges::all_of(node.inputs(), [&](const Tensor& t) { return made[t.node().id()]; });
  };
  for (const Node* node : order) {
    if (!node->op().collective) add(node);
    for (; !collectives.empty() && ready(*collectives.front()); collectives.pop_front())
      add(collectives.front());
  }
  return out;
}

}  // namespace

std::vector<const Node*> execution_order(const Program& program) {
  auto live = live_nodes(*program.graph, program.outputs, program.effects);
  Order order;
  for (const auto& node : *program.graph)
    if (live[node->id()]) order.push_back(node.get());
  std::stable_partition(order.begin(), order.end(),
                        [](const Node* n) { return !writes_variables(n); });
  return with_early_collectives(with_early_sends(order), program.graph->size());
}

}  // namespace belfry
