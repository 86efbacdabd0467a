#include <algorithm>
#include <map>

#include "belfry/framework/compiler/passes.h"
#include "belfry/framework/ops/defs.h"
#include "belfry/framework/ops/defs_nn.h"
#include "belfry/framework/ops/math.h"
#include "belfry/framework/ops/nn_checks.h"

namespace belfry {
namespace {

bool is_bias_gradient(const Node& sum) {
  if (!sum.is(sum_op) || sum.output().shape.rank() != 1) return false;
  const Shape& x = sum.input(0).shape();
  const auto& o = sum.as<ReduceOptions>();
  return x.rank() >= 2 && std::ssize(o.axes) == x.rank() - 1
         && std::ranges::count(o.axes, x.rank() - 1) == 0;
}

// The relu_grad, cast to f32 perhaps, whose elements a node sums; null if there is none. One that
// would otherwise join a chain of elementwise ops stays with it.
const Node* relu_grad_of(const Node& sum, const std::vector<std::vector<int>>& uses) {
  const Node* node = &sum.input(0).node();
  DType statistics = sum.output().dtype;
  if (node->is(cast_op) && uses[node->id()][0] == 1) node = &node->input(0).node();
  if (!node->is(functor::ReluGrad::op) || node->device() != sum.device()
      || statistics != statistics_type(node->output().dtype))
    return nullptr;
  const Tensor &dy = node->input(0), &y = node->input(1);
  if (dy.type() != node->output() || y.type() != node->output()) return nullptr;
  bool chain = dy.node().op().elementwise && uses[dy.node().id()][dy.index()] == 1;
  return chain ? nullptr : node;
}

}  // namespace

Program sum_relu_gradients(const Program& program, const std::function<bool(int device)>& on_host) {
  auto uses = use_counts(program);
  auto live = live_nodes(*program.graph, program.outputs, program.effects);
  std::map<const Node*, const Node*> sums;  // by relu_grad
  for (const auto& node : *program.graph)
    if (live[node->id()] && !on_host(node->device()) && is_bias_gradient(*node))
      if (const Node* relu_grad = relu_grad_of(*node, uses))
        sums.try_emplace(relu_grad, node.get());
  std::map<const Node*, Tensor> made;  // by sum
  auto fuse = [&](const Node& old, Rewriting& to) -> std::optional<std::vector<Tensor>> {
    if (auto at = made.find(&old); at != made.end()) return std::vector{at->second};
    auto sum = sums.find(&old);
    if (sum == sums.end()) return std::nullopt;
    Node& both = apply(relu_grad_sum_op, to.inputs(old));
    made[sum->second] = Tensor(both, 1);
    return std::vector{Tensor(both, 0)};
  };
  return rewrite(program, fuse);
}

}  // namespace belfry
