#include <algorithm>

#include "belfry/framework/compiler/passes.h"
#include "belfry/framework/graph/leaves.h"
#include "belfry/framework/ops/defs.h"
#include "belfry/framework/ops/elementwise/fused_elementwise.h"

namespace belfry {
namespace {

bool fusable_type(DType dtype) {
  return dtype == DType::f32 || dtype == DType::bf16 || dtype == DType::f16
         || dtype == DType::boolean;
}

bool is_cast(const Node& node, std::initializer_list<DType> from, std::initializer_list<DType> to) {
  auto among = [](DType dtype, auto& all) { return std::ranges::find(all, dtype) != all.end(); };
  return node.is(cast_op) && among(node.input(0).dtype(), from) && among(node.output().dtype, to);
}

// Casts at the ends of a chain of f32 are part of reading and writing. Each rounds as it does by
// itself; what would round between two ops of a chain is none of these.
bool begins_chain(const Node& node) {
  return is_cast(node, {DType::u8, DType::bf16, DType::f16}, {DType::f32});
}
bool ends_chain(const Node& node) { return is_cast(node, {DType::f32}, {DType::bf16, DType::f16}); }

bool fusable(const Node& node) {
  if (begins_chain(node) || ends_chain(node)) return true;
  return node.op().elementwise && fusable_type(node.output().dtype)
         && std::all_of(node.inputs().begin(), node.inputs().end(),
                        [](const Tensor& t) { return fusable_type(t.dtype()); });
}

// The one type of the node's operands that are not bool, f32 where it casts; bool if all are.
DType type_of(const Node& node) {
  if (node.is(cast_op)) return DType::f32;
  for (const Tensor& t : node.inputs())
    if (t.dtype() != DType::boolean) return t.dtype();
  return node.output().dtype;
}

// Which nodes disappear into their only reader: same shape, phase and device, so that nothing is
// computed on a smaller or larger shape than before and no forward value is recomputed late. A sum
// of several tensors is not put off beyond another kernel: they would all be kept until then.
class Absorption {
 public:
  explicit Absorption(const Program& program) : chains_(program.graph->size()) {
    auto uses = use_counts(program);
    auto live = live_nodes(*program.graph, program.outputs, program.effects);
    int kernels = 0;
    for (const auto& node : *program.graph) {
      if (!live[index(*node)]) continue;
      Chain& chain = chains_[index(*node)];
      if (!fusable(*node)) {
        if (!is_leaf(*node)) ++kernels;
        continue;
      }
      chain.kernels_before = kernels;
      chain.inputs = node->inputs().size();
      chain.dtype = type_of(*node);
      for (const Tensor& t : node->inputs())
        if (!is_leaf(t.node()) && t.shape() == node->output().shape) ++chain.large_inputs;
      for (const Tensor& t : node->inputs())
        if (uses[index(t.node())][0] == 1 && joins(t.node(), *node)) absorb(t.node(), *node);
    }
  }
  bool absorbed(const Node& node) const { return chains_[index(node)].absorbed; }
  bool absorbs(const Node& node) const { return chains_[index(node)].instructions > 1; }

 private:
  struct Chain {  // that ends at a node
    std::size_t instructions = 1;
    std::size_t inputs = 0;
    std::size_t large_inputs = 0;  // of the chain's shape
    int kernels_before = 0;        // others, in the graph
    DType dtype = DType::boolean;  // of all values that are not bool
    bool absorbed = false;
  };
  static std::size_t index(const Node& node) { return node.id(); }

  bool joins(const Node& from, const Node& to) const {
    const Chain &a = chains_[index(from)], &b = chains_[index(to)];
    if (begins_chain(to) || (begins_chain(from) && ends_chain(to))) return false;
    if (a.large_inputs > 1 && a.kernels_before != b.kernels_before) return false;
    if (a.dtype != b.dtype && a.dtype != DType::boolean && b.dtype != DType::boolean) return false;
    return fusable(from) && from.output().shape == to.output().shape && from.phase() == to.phase()
           && from.device() == to.device()
           && a.instructions + b.instructions <= most_fused_instructions
           && a.inputs + b.inputs - 1 <= most_fused_inputs;
  }
  void absorb(const Node& from, const Node& to) {
    Chain &a = chains_[index(from)], &b = chains_[index(to)];
    a.absorbed = true;
    if (b.dtype == DType::boolean) b.dtype = a.dtype;
    b.instructions += a.instructions;
    b.inputs += a.inputs - 1;
    b.large_inputs += a.large_inputs - 1;
  }

  std::vector<Chain> chains_;  // by node id
};

// Writes the tree of absorbed nodes below `root` as a program.
class ChainWriter {
 public:
  ChainWriter(const Absorption& absorption, Rewriting& to) : absorption_(absorption), to_(to) {}

  Tensor write(const Node& root) {
    collect_inputs(root);
    emit(root);
    options_.result = root.output().dtype;
    return fused_elementwise(inputs_, options_);
  }

 private:
  void collect_inputs(const Node& node) {
    for (const Tensor& t : node.inputs()) {
      if (absorption_.absorbed(t.node())) {
        collect_inputs(t.node());
      } else if (std::find(inputs_.begin(), inputs_.end(), to_(t)) == inputs_.end()) {
        inputs_.push_back(to_(t));
      }
    }
  }

  // Returns the number of the node's value.
  int emit(const Node& node) {
    FusedInstruction instruction{&node.op()};
    for (std::size_t i = 0; i < node.inputs().size(); ++i)
      instruction.arguments[i] = argument(node.inputs()[i]);
    if (node.is(cast_op)) {
      options_.casts = true;
      return instruction.arguments[0];
    }
    options_.program.push_back(instruction);
    return static_cast<int>(inputs_.size() + options_.program.size()) - 1;
  }

  int argument(const Tensor& t) {
    if (absorption_.absorbed(t.node())) return emit(t.node());
    return std::find(inputs_.begin(), inputs_.end(), to_(t)) - inputs_.begin();
  }

  const Absorption& absorption_;
  Rewriting& to_;
  std::vector<Tensor> inputs_;
  FusedOptions options_;
};

}  // namespace

Program fuse_elementwise(const Program& program) {
  Absorption absorption(program);
  auto fuse = [&](const Node& old, Rewriting& to) -> std::optional<std::vector<Tensor>> {
    if (!absorption.absorbs(old) || absorption.absorbed(old)) return std::nullopt;
    return std::vector{ChainWriter(absorption, to).write(old)};
  };
  return rewrite(program, fuse);
}

}  // namespace belfry
