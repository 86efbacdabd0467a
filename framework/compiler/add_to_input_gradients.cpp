#include "belfry/framework/compiler/passes.h"
#include "belfry/framework/ops/convolution/convolution.h"
#include "belfry/framework/ops/math.h"

namespace belfry {
namespace {

bool takes_addend(const Node& node) {
  return (node.is(conv2d_grad_input_op) || node.is(conv3d_grad_input_op)) && !has_addend(node);
}

}  // namespace

Program add_to_input_gradients(const Program& program,
                               const std::function<bool(int device)>& on_host) {
  auto uses = use_counts(program);
  auto fuse = [&](const Node& old, Rewriting& to) -> std::optional<std::vector<Tensor>> {
    if (!old.is(functor::Add::op) || on_host(old.device())) return std::nullopt;
    // The later of two such gradients is chosen: the other is there already.
    int later = old.input(0).node().id() > old.input(1).node().id() ? 0 : 1;
    for (int side : {later, 1 - later}) {
      const Tensor &gradient = old.input(side), &other = old.input(1 - side);
      const Node& node = gradient.node();
      if (!takes_addend(to(gradient).node()) || node.device() != old.device()
          || gradient.type() != other.type() || uses[node.id()][0] != 1)
        continue;
      const Node& made = to(gradient).node();
      return std::vector{apply1(made.op(), {made.input(0), made.input(1), to(other)},
                                made.as<ConvGradInputOptions>())};
    }
    return std::nullopt;
  };
  return rewrite(program, fuse);
}

}  // namespace belfry
