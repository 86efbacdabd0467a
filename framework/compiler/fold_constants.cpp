#include <algorithm>
#include <cmath>

#include "belfry/framework/compiler/passes.h"
#include "belfry/framework/graph/leaves.h"
#include "belfry/framework/ops/defs.h"

namespace belfry {
namespace {

constexpr std::int64_t largest_folded = 1 << 20;  // bytes; larger results would bloat the plan
// Each plan keeps its constants, so one that is larger than what it is made of, such as the
// gradient of a mean, is computed in the step: six models trained no slower so (bench/train_speed).
constexpr std::int64_t largest_grown = 1 << 14;

bool foldable(const Node& old, std::span<const Tensor> inputs) {
  if (inputs.empty() || old.op().collective || !(old.op().reference || old.op().view)) return false;
  std::int64_t bytes = 0, from = largest_grown;
  for (const TensorType& t : old.outputs()) bytes += t.bytes();
  for (const Tensor& t : inputs) from = std::max(from, t.type().bytes());
  return bytes <= std::min(from, largest_folded)
         && std::all_of(inputs.begin(), inputs.end(),
                        [](const Tensor& t) { return t.node().is(constant_op); });
}

std::vector<Array> run_reference(const Node& old, std::span<const Tensor> inputs) {
  std::vector<ArrayView> in, out;
  for (const Tensor& t : inputs) {
    Array value = t.node().as<ConstantOptions>().value;
    in.push_back({value.type(), value.raw()});
  }
  std::vector<Array> results;
  for (const TensorType& type : old.outputs()) results.emplace_back(type);
  for (Array& a : results) out.push_back({a.type(), a.raw()});
  old.op().reference({old.op().name, in, out, old.options()});
  return results;
}

bool all_are(const Tensor& t, double value) {
  if (!t.node().is(constant_op)) return false;
  const Array& elements = t.node().as<ConstantOptions>().value;
  for (std::int64_t i = 0; i < elements.elements(); ++i)
    if (elements.at(i) != value || std::signbit(elements.at(i))) return false;
  return true;
}

// x of x * 1, 1 * x, x / 1 and x - 0, which are x to the last bit; an undefined tensor otherwise.
Tensor unchanged_operand(const Node& old, std::span<const Tensor> inputs) {
  auto is_x = [&](int i, int constant, double neutral) {
    return inputs[i].type() == old.output() && all_are(inputs[constant], neutral);
  };
  if (old.is(functor::Mul::op) && is_x(1, 0, 1)) return inputs[1];
  if ((old.is(functor::Mul::op) || old.is(functor::Div::op)) && is_x(0, 1, 1)) return inputs[0];
  if (old.is(functor::Sub::op) && is_x(0, 1, 0)) return inputs[0];
  return {};
}

}  // namespace

Program fold_constants(const Program& program) {
  auto fold = [](const Node& old, Rewriting& to) -> std::optional<std::vector<Tensor>> {
    std::vector<Tensor> inputs = to.inputs(old);
    if (!foldable(old, inputs)) {
      Tensor same = unchanged_operand(old, inputs);
      return same.defined() ? std::optional(std::vector{same}) : std::nullopt;
    }
    if (old.op().view) {
      const Array& value = inputs[0].node().as<ConstantOptions>().value;
      return std::vector{constant(to.graph(), value.reshape(old.output().shape))};
    }
    std::vector<Tensor> folded;
    for (Array& a : at_scope(old.scope(), [&] { return run_reference(old, inputs); }))
      folded.push_back(constant(to.graph(), std::move(a)));
    return folded;
  };
  return rewrite(program, fold);
}

}  // namespace belfry
