#include <algorithm>
#include <optional>

#include "belfry/framework/compiler/passes.h"
#include "belfry/framework/ops/defs.h"
#include "belfry/framework/ops/elementwise/functors.h"
#include "belfry/framework/ops/movement/shape_ops.h"

namespace belfry {
namespace {

/// A pad along one axis only, seen as a part of its result.
struct Part {
  int axis = 0;
  std::int64_t begin = 0, end = 0;
  Tensor operand;
};

std::optional<Part> part_of(const Node& node) {
  if (!node.is(pad_op)) return {};
  const auto& o = node.as<PadOptions>();
  std::optional<Part> out;
  for (int axis = 0; axis < std::ssize(o.before); ++axis) {
    if (o.before[axis] == 0 && o.after[axis] == 0) continue;
    if (out || o.value != 0) return {};
    std::int64_t end = node.output().shape[axis] - o.after[axis];
    out = Part{.axis = axis, .begin = o.before[axis], .end = end, .operand = node.input(0)};
  }
  return out;
}

class Joints {
 public:
  explicit Joints(const Program& program)
      : uses_(use_counts(program)),
        live_(live_nodes(*program.graph, program.outputs, program.effects)) {}

  /// The operands of a concat that gives what this sum does, if it is one of pads alone that fill
  /// its result without a gap. In order.
  std::vector<Part> parts(const Node& sum) const {
    std::vector<Part> out;
    if (!live_[sum.id()] || !sum.is(functor::Add::op) || !collect(sum, sum, out)) return {};
    std::ranges::sort(out, {}, &Part::begin);
    std::int64_t end = 0;
    for (const Part& part : out) {
      if (part.axis != out[0].axis || part.begin != end) return {};
      end = part.end;
    }
    return end == sum.output().shape[out[0].axis] ? out : std::vector<Part>();
  }

 private:
  bool collect(const Node& node, const Node& root, std::vector<Part>& out) const {
    if (node.output() != root.output() || node.phase() != root.phase()
        || node.device() != root.device())
      return false;
    if (&node != &root && uses_[node.id()][0] != 1) return false;
    if (std::optional<Part> part = part_of(node)) return out.push_back(*part), true;
    return node.is(functor::Add::op) && collect(node.input(0).node(), root, out)
           && collect(node.input(1).node(), root, out);
  }

  std::vector<std::vector<int>> uses_;
  std::vector<bool> live_;
};

}  // namespace

Program join_pads(const Program& program) {
  Joints joints(program);
  auto join = [&](const Node& old, Rewriting& to) -> std::optional<std::vector<Tensor>> {
    std::vector<Part> parts = joints.parts(old);
    if (parts.empty()) return std::nullopt;
    std::vector<Tensor> operands;
    for (const Part& part : parts) operands.push_back(to(part.operand));
    return std::vector{concat(operands, parts[0].axis)};
  };
  return rewrite(program, join);
}

}  // namespace belfry
