#include <map>
#include <set>

#include "belfry/framework/compiler/passes.h"
#include "belfry/framework/ops/defs_nn.h"

namespace belfry {
namespace {

struct Forward {  // relu(bn) or relu(bn + residual)
  const Node* relu = nullptr;
  Tensor residual;
};

bool is_gradient_of(const Node& norm, const Node& grad) {
  auto is_output = [&](const Tensor& t, int i) { return &t.node() == &norm && t.index() == i; };
  return grad.input(1) == norm.input(0) && grad.input(2) == norm.input(1)
         && is_output(grad.input(3), 1) && is_output(grad.input(4), 3);
}

struct Patterns {
  std::map<const Node*, Forward> forward;         // by batch_norm_train
  std::map<const Node*, const Node*> fused_relu;  // relu to its batch_norm_train
  std::map<const Node*, const Node*> backward;    // relu_grad to its batch_norm_grad
  std::set<const Node*> masked;                   // batch_norm_train that leave a mask

  // The batch_norm_train whose gradient both are together; null where they are of several.
  const Node* norm_of(const Node& relu_grad, const Node& grad) const {
    auto fused = fused_relu.find(&relu_grad.input(1).node());
    bool same = fused != fused_relu.end() && is_gradient_of(*fused->second, grad);
    return same ? fused->second : nullptr;
  }
};

bool may_be_masked(const TensorType& y) {
  return size_of(y.dtype) == 2 && y.shape[y.shape.rank() - 1] % 8 == 0;
}

class Finder {
 public:
  Finder(const Program& program, const std::function<bool(int device)>& on_host)
      : uses_(use_counts(program)) {
    auto live = live_nodes(*program.graph, program.outputs, program.effects);
    for (const auto& node : *program.graph) {
      if (!live[node->id()]) continue;
      if (node->is(functor::Relu::op)) find_forward(*node);
      if (node->is(batch_norm_grad_op)) find_backward(*node);
    }
    for (const auto& [relu_grad, grad] : found.backward) {
      const Node* norm = found.norm_of(*relu_grad, *grad);
      if (norm && found.forward.at(norm).residual.defined() && !on_host(norm->device())
          && norm->device() == grad->device() && may_be_masked(norm->output()))
        found.masked.insert(norm);
    }
  }
  Patterns found;

 private:
  int uses(const Tensor& t) const { return uses_[t.node().id()][t.index()]; }
  bool plain_norm(const Tensor& t) const {
    return t.node().is(batch_norm_train_op) && t.index() == 0 && uses(t) == 1
           && t.node().as<BatchNormOptions>().activation == Activation::none
           && !t.node().as<BatchNormOptions>().residual;
  }

  void find_forward(const Node& relu) {
    const Tensor& x = relu.input(0);
    if (x.node().device() != relu.device()) return;
    if (plain_norm(x)) return remember(relu, x.node(), {});
    if (!x.node().is(functor::Add::op) || uses(x) != 1) return;
    // The fused op stands where its batch norm stood, so the residual must be there before it.
    for (int side : {0, 1}) {
      const Tensor &norm = x.node().input(side), &other = x.node().input(1 - side);
      if (plain_norm(norm) && norm.node().device() == relu.device() && other.type() == norm.type()
          && other.node().id() < norm.node().id())
        return remember(relu, norm.node(), other);
    }
  }
  void remember(const Node& relu, const Node& norm, const Tensor& residual) {
    found.forward[&norm] = {&relu, residual};
    found.fused_relu[&relu] = &norm;
  }

  void find_backward(const Node& grad) {
    const Node& dy = grad.input(0).node();
    if (!dy.is(functor::ReluGrad::op) || dy.device() != grad.device()
        || grad.as<BatchNormGradOptions>().activation != Activation::none)
      return;
    // relu_grad broadcasts; the fused op does not.
    const TensorType& x = grad.input(1).type();
    if (dy.input(0).type() != x || dy.input(1).type() != x) return;
    // All that the gradient reads besides dy comes from the forward pass, before relu_grad.
    for (std::size_t i = 1; i < grad.inputs().size(); ++i)
      if (grad.inputs()[i].node().id() >= dy.id()) return;
    found.backward.try_emplace(&dy, &grad);
  }

  std::vector<std::vector<int>> uses_;
};

std::vector<Tensor> fused_forward(const Node& norm, const Forward& pattern, bool mask,
                                  Rewriting& to) {
  std::vector<Tensor> inputs = to.inputs(norm);
  BatchNormOptions options = norm.as<BatchNormOptions>();
  options.activation = Activation::relu;
  options.mask = mask;
  if (pattern.residual.defined()) {
    inputs.push_back(to(pattern.residual));
    options.residual = true;
  }
  std::vector<Tensor> outputs = outputs_of(apply(batch_norm_train_op, inputs, options));
  outputs.resize(norm.outputs().size());  // without the mask
  return outputs;
}

// relu_grad's own result is wanted beside the batch norm's only where a residual branches off.
// Reading the offset, or a mask, in place of y spares a third of what is read.
std::vector<Tensor> fused_backward(const Node& relu_grad, const Node& grad, bool residual,
                                   const Patterns& patterns, Rewriting& to) {
  std::vector<Tensor> inputs{to(relu_grad.input(0))};
  for (std::size_t i = 1; i < grad.inputs().size(); ++i) inputs.push_back(to(grad.inputs()[i]));
  const Node* norm = patterns.norm_of(relu_grad, grad);
  BatchNormGradOptions options{.activation = Activation::relu, .residual = residual};
  if (norm && !patterns.forward.at(norm).residual.defined()) {
    options.gate = ReluGate::offset;
    inputs.push_back(to(norm->input(2)));
  } else if (norm && patterns.masked.contains(norm)) {
    options.gate = ReluGate::mask;
    inputs.emplace_back(to(relu_grad.input(1)).node(), 4);
  } else {
    inputs.push_back(to(relu_grad.input(1)));
  }
  return outputs_of(apply(batch_norm_grad_op, inputs, options));
}

}  // namespace

Program fuse_batch_norm(const Program& program, const std::function<bool(int device)>& on_host) {
  Patterns patterns = Finder(program, on_host).found;
  auto uses = use_counts(program);
  std::map<const Node*, std::vector<Tensor>> gradients;  // of batch_norm_grad nodes made early
  std::map<const Node*, Tensor> activated;               // of relu nodes
  auto fuse = [&](const Node& old, Rewriting& to) -> std::optional<std::vector<Tensor>> {
    if (auto at = patterns.forward.find(&old); at != patterns.forward.end()) {
      std::vector<Tensor> outputs =
          fused_forward(old, at->second, patterns.masked.contains(&old), to);
      activated[at->second.relu] = outputs[0];
      return outputs;
    }
    if (patterns.fused_relu.contains(&old)) return std::vector{activated.at(&old)};
    if (auto at = patterns.backward.find(&old); at != patterns.backward.end()) {
      bool residual = uses[old.id()][0] > 1;
      std::vector<Tensor> outputs = fused_backward(old, *at->second, residual, patterns, to);
      gradients[at->second] = {outputs.begin(), outputs.begin() + 3};
      return residual ? std::optional(std::vector{outputs[3]}) : std::nullopt;
    }
    if (auto at = gradients.find(&old); at != gradients.end()) return at->second;
    return std::nullopt;
  };
  return rewrite(program, fuse);
}

}  // namespace belfry
