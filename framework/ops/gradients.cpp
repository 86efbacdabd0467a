#include <map>

#include "belfry/framework/graph/leaves.h"
#include "belfry/framework/ops/math.h"
#include "belfry/framework/ops/ops.h"

namespace belfry {
namespace {

bool carries_gradient(const Tensor& t) { return is_floating(t.dtype()); }

/// Which nodes up to `last` depend on one of xs by way of floating tensors, by id.
std::vector<bool> nodes_after(std::span<const Tensor> xs, const Node& last) {
  std::vector<bool> after(last.id() + 1);
  for (const Tensor& x : xs) {
    std::size_t id = x.node().id();
    if (id < after.size()) after[id] = true;
  }
  for (std::size_t id = 0; id < after.size(); ++id)
    for (const Tensor& input : last.graph().node(id).inputs())
      if (carries_gradient(input) && after[input.node().id()]) after[id] = true;
  return after;
}

Placement backward_placement(const Node& node) {
  return {node.scope(), node.device(), Phase::backward};
}

Tensor checked_seed(Tensor y, Tensor seed) {
  if (seed.defined()) {
    require(seed.type() == y.type(), "gradients: the seed is ", seed.type(), " but y is ",
            y.type());
    return seed;
  }
  require(y.rank() == 0, "gradients: y is ", y.type(),
          ", not a scalar; reduce it with sum() or mean(), or pass a seed");
  Graph::PlacementGuard guard(y.graph(), backward_placement(y.node()));
  return constant(y.graph(), 1, y.dtype());
}

/// The gradients of tensors, summed over the paths found so far.
class Accumulator {
 public:
  void add(Tensor t, Tensor gradient) {
    Tensor& total = totals_[t];
    total = total.defined() ? belfry::add(total, gradient) : gradient;
  }
  Tensor at(Tensor t) const {
    auto found = totals_.find(t);
    return found == totals_.end() ? Tensor() : found->second;
  }

 private:
  std::map<Tensor, Tensor> totals_;
};

/// Passes the gradients of the node's outputs on to its inputs.
void differentiate(Node& node, const std::vector<bool>& after, Accumulator& total) {
  auto wanted = [&](const Tensor& input) {
    return carries_gradient(input) && after[input.node().id()];
  };
  bool any_wanted = false, any_given = false;
  for (const Tensor& input : node.inputs()) any_wanted = any_wanted || wanted(input);
  std::vector<Tensor> dy;
  for (std::size_t i = 0; i < node.outputs().size(); ++i) {
    dy.push_back(total.at(Tensor(node, i)));
    any_given = any_given || dy.back().defined();
  }
  if (!any_wanted || !any_given) return;
  require(node.op().gradient, "gradients: ", node,
          " has no gradient; wrap its input in stop_gradient() if none is meant to flow");
  Graph::PlacementGuard guard(node.graph(), backward_placement(node));
  std::vector<Tensor> dx = node.op().gradient(GradContext(node, dy));
  ensure(dx.size() == node.inputs().size(), node, ": ", dx.size(), " gradients for ",
         node.inputs().size(), " inputs");
  for (std::size_t i = 0; i < dx.size(); ++i) {
    const Tensor& input = node.inputs()[i];
    if (!dx[i].defined() || !wanted(input)) continue;
    ensure(dx[i].type() == input.type(), node, ": the gradient of input ", i, " is ", dx[i].type(),
           " but the input is ", input.type());
    total.add(input, dx[i]);
  }
}

}  // namespace

std::vector<Tensor> gradients(Tensor y, std::span<const Tensor> xs, Tensor seed) {
  require(carries_gradient(y), "gradients: y is ", y.type(), "; only floating tensors have them");
  Graph& graph = y.graph();
  for (const Tensor& x : xs)
    require(&x.graph() == &graph, "gradients: x belongs to another graph than y");
  // Gradients are computed in the types of the forward pass, whatever rule made it.
  struct WithoutRule {
    explicit WithoutRule(Graph& g) : graph(g), rule(g.set_input_rule({})) {}
    ~WithoutRule() { graph.set_input_rule(std::move(rule)); }
    Graph& graph;
    Graph::InputRule rule;
  } without_rule(graph);
  Accumulator total;
  total.add(y, checked_seed(y, seed));
  std::vector<bool> after = nodes_after(xs, y.node());
  for (std::size_t id = after.size(); id-- > 0;)
    if (after[id]) differentiate(graph.node(id), after, total);
  std::vector<Tensor> out;
  for (const Tensor& x : xs) out.push_back(carries_gradient(x) ? total.at(x) : Tensor());
  return out;
}

}  // namespace belfry
