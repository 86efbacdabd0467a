#include "belfry/framework/compiler/passes.h"
#include "belfry/framework/ops/defs_nn.h"

namespace belfry {
namespace {

// Calls f with the options of a convolution or a matmul, both of which have bias and activation.
template <class F>
auto with_options(const Node& node, F&& f) {
  return node.is(matmul_op) ? f(node.as<MatmulNodeOptions>()) : f(node.as<ConvOptions>());
}

bool is_product(const Node& node) {
  return node.is(conv2d_op) || node.is(conv3d_op) || node.is(matmul_op);
}

bool takes_activation(const Node& node) {
  return is_product(node)
         && with_options(node, [](const auto& o) { return o.activation == Activation::none; });
}

bool takes_bias(const Node& node) {
  return takes_activation(node) && with_options(node, [](const auto& o) { return !o.bias; });
}

Tensor with_bias(const Node& node, const Tensor& bias) {
  return with_options(node, [&](auto options) {
    std::vector<Tensor> inputs(node.inputs().begin(), node.inputs().end());
    inputs.push_back(bias);
    options.bias = true;
    return apply1(node.op(), std::move(inputs), options);
  });
}

Tensor with_activation(const Node& node) {
  return with_options(node, [&](auto options) {
    options.activation = Activation::relu;
    return apply1(node.op(), {node.inputs().begin(), node.inputs().end()}, options);
  });
}

bool is_bias_for(const Tensor& bias, const Tensor& y) {
  return bias.rank() == 1 && y.rank() >= 1 && bias.size(0) == y.size(-1);
}

}  // namespace

Program fuse_bias_and_activation(const Program& program) {
  auto uses = use_counts(program);
  auto joins = [&](const Tensor& t, const Node& reader) {
    return t.node().device() == reader.device() && uses[t.node().id()][t.index()] == 1;
  };
  auto fuse = [&](const Node& old, Rewriting& to) -> std::optional<std::vector<Tensor>> {
    if (old.is(functor::Add::op)) {
      for (int side : {0, 1}) {
        const Tensor &y = old.input(side), &bias = old.input(1 - side);
        if (joins(y, old) && takes_bias(to(y).node()) && is_bias_for(bias, y))
          return std::vector{with_bias(to(y).node(), to(bias))};
      }
    }
    if (old.is(functor::Relu::op) && joins(old.input(0), old)
        && takes_activation(to(old.input(0)).node()))
      return std::vector{with_activation(to(old.input(0)).node())};
    return std::nullopt;
  };
  return rewrite(program, fuse);
}

}  // namespace belfry
