// The updates of all moving statistics become one effect: a ResNet-50 has 106, of two kernels or
// more each.

#include <map>
#include <optional>

#include "belfry/framework/compiler/passes.h"
#include "belfry/framework/graph/leaves.h"
#include "belfry/framework/ops/elementwise/functors.h"
#include "belfry/framework/ops/update/updates.h"

namespace belfry {
namespace {

/// moving += (batch x scale - moving) x rate
struct StatisticsUpdate {
  Tensor moving, batch;
  double scale = 1, rate = 0;
};

std::optional<double> scalar_of(const Tensor& t) {
  if (!t.node().is(constant_op) || t.dtype() != DType::f32 || t.shape().rank() > 0) return {};
  return t.node().as<ConstantOptions>().value.at(0);
}

const Node* node_of(const Tensor& t, const OpDef& op) {
  const Tensor* at = &t;
  while (at->node().op().view && at->node().input(0).type() == at->type())
    at = &at->node().input(0);
  return at->node().is(op) ? &at->node() : nullptr;
}

// The operand that is a scalar, with the other one.
struct Scaled {
  Tensor x;
  double factor;
};
std::optional<Scaled> scaled(const Tensor& t) {
  const Node* product = node_of(t, functor::Mul::op);
  if (!product) return {};
  for (int side : {0, 1})
    if (auto factor = scalar_of(product->input(side)))
      return Scaled{product->input(1 - side), *factor};
  return {};
}

// As layers::batch_norm writes it: moving + (batch - moving) x rate, in one order or the other.
std::optional<StatisticsUpdate> statistics_update(const Node& effect) {
  if (!effect.is(assign_op)) return {};
  const Tensor& moving = effect.input(0);
  const Node* sum = node_of(effect.input(1), functor::Add::op);
  if (!sum || moving.dtype() != DType::f32) return {};
  int side = sum->input(0) == moving ? 1 : 0;
  std::optional<Scaled> way = scaled(sum->input(side));
  if (!way || sum->input(1 - side) != moving) return {};
  const Node* difference = node_of(way->x, functor::Sub::op);
  if (!difference || difference->input(1) != moving || difference->input(0).type() != moving.type())
    return {};
  StatisticsUpdate out{moving, difference->input(0), 1, way->factor};
  if (std::optional<Scaled> batch = scaled(out.batch); batch && batch->x.type() == moving.type())
    out.batch = batch->x, out.scale = batch->factor;
  return out;
}

// How often a step writes each variable.
std::map<const Node*, int> writes_of(const Program& program) {
  std::map<const Node*, int> writes;
  for (const Node* effect : program.effects)
    for (int i : effect->mutated()) ++writes[&effect->input(i).node()];
  return writes;
}

}  // namespace

Program merge_statistics_updates(const Program& program,
                                 const std::function<bool(int device)>& on_host) {
  std::map<const Node*, int> writes = writes_of(program);
  std::map<const Node*, StatisticsUpdate> found;  // by effect
  std::map<int, const Node*> last;                // of a device
  for (const Node* effect : program.effects) {
    if (on_host(effect->device())) continue;
    auto update = statistics_update(*effect);
    if (!update || writes[&update->moving.node()] > 1) continue;
    found.emplace(effect, *update);
    const Node*& latest = last[effect->device()];
    if (!latest || latest->id() < effect->id()) latest = effect;
  }
  auto copy = [](const Node&, Rewriting&) { return std::optional<std::vector<Tensor>>(); };
  auto merge = [&](const Node& old, Rewriting& to) {
    if (!found.contains(&old)) return false;
    if (last.at(old.device()) != &old) return true;
    std::vector<Tensor> inputs;
    StatisticsUpdateOptions options;
    for (const Node* effect : program.effects) {
      auto at = found.find(effect);
      if (at == found.end() || effect->device() != old.device()) continue;
      const StatisticsUpdate& update = at->second;
      inputs.insert(inputs.end(), {to(update.moving), to(update.batch)});
      options.scales.push_back(update.scale);
      options.rates.push_back(update.rate);
    }
    apply(statistics_update_op, std::move(inputs), options);
    return true;
  };
  return rewrite(program, copy, merge);
}

}  // namespace belfry
