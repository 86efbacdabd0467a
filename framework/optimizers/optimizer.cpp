#include <map>
#include <tuple>
#include <utility>

#include "belfry/framework/base/option_checks.h"
#include "belfry/framework/ops/math.h"
#include "belfry/framework/ops/update/clip_update.h"
#include "belfry/framework/ops/update/updates.h"
#include "belfry/framework/optimizers/optimizers.h"

namespace belfry {
namespace {

// <variable>/<optimizer>, or <variable>/<optimizer>_<k> for the k-th further optimizer.
std::string slot_scope(const Variable& variable, const std::string& optimizer,
                       std::string_view first_slot) {
  const Graph& graph = variable.node().graph();
  std::string base = variable.name() + "/" + optimizer, scope = base;
  for (int k = 1; graph.find_variable(concat(scope, "/", first_slot)); ++k)
    scope = concat(base, "_", k);
  return scope;
}

std::vector<Variable> make_slots(const Variable& variable, const std::string& optimizer,
                                 std::span<const SlotSpec> specs, OptimizerState state) {
  std::vector<Variable> slots;
  if (specs.empty()) return slots;
  std::string scope = slot_scope(variable, optimizer, specs[0].name);
  require(state == OptimizerState::as_variable || variable.type().dtype == DType::f32, optimizer,
          ": variable `", variable.name(), "` is ", variable.type(),
          " and the optimizer's state is ", state,
          ", which is for variables of f32; make it f32 or set `state` to as_variable");
  TensorType type = slot_type(variable.type(), state);
  for (const SlotSpec& spec : specs) {
    VariableOptions options{concat(scope, "/", spec.name), type, constant_value(spec.initial),
                            VariableKind::slot};
    slots.emplace_back(variable.node().graph().add(
        variable_op, {}, std::move(options), {scope, variable.node().device(), Phase::update}));
  }
  return slots;
}

}  // namespace

Optimizer make_optimizer(std::string name, Schedule learning_rate, std::vector<SlotSpec> slots,
                         UpdateMaker update, OptimizerState state) {
  require(update, "make_optimizer: the update of `", name, "` is empty; set a function");
  for (const SlotSpec& slot : slots)
    require(state == OptimizerState::as_variable || slot.initial == 0, "make_optimizer: slot `",
            slot.name, "` of `", name, "` begins at ", slot.initial, " and its state is ", state,
            ", in which slots begin at 0; set the state to as_variable");
  auto apply = [=](const Gradients& gradients, const ApplyArgs& args) {
    if (gradients.empty()) return;
    Graph& graph = gradients[0].variable.node().graph();
    std::map<std::tuple<int, DType, double, OptimizerState>, std::vector<UpdateGroup>> nodes;
    for (const auto& [variable, gradient, rate] : gradients) {
      UpdateGroup group{variable, gradient, make_slots(variable, name, slots, state)};
      nodes[{variable.node().device(), variable.type().dtype, rate, state_of(group)}].push_back(
          std::move(group));
    }

    Placement placement = graph.default_placement({});
    placement.phase = Phase::update;
    Graph::PlacementGuard guard(graph, placement);
    auto or_global = [&](const Tensor& own) { return own.defined() ? own : global_step(graph); };
    Tensor step = or_global(args.step);
    Tensor base = learning_rate.exact(or_global(args.schedule_step));
    for (const auto& [key, groups] : nodes) {
      const auto& [device, dtype, rate, kept] = key;
      Tensor own = cast(rate == 1 ? base : base * rate, DType::f32);
      placement.device = device;
      Graph::PlacementGuard on_device(graph, placement);
      update(own, step, groups, args.condition);
    }
  };
  return {name, apply, learning_rate};
}

Optimizer clip_weights(Optimizer optimizer, const ClipWeightsOptions& o) {
  require_above_zero("clip_weights", "limit", o.limit);
  // Effects run in the order of their making, and see what those before them have written.
  optimizer.apply = [update = std::move(optimizer.apply), limit = o.limit](
                        const Gradients& gradients, const ApplyArgs& args) {
    update(gradients, args);
    std::map<int, std::vector<Variable>> nodes;  // by device
    for (const VariableGradient& entry : gradients)
      nodes[entry.variable.node().device()].push_back(entry.variable);
    for (const auto& [slot, variables] : nodes) {
      Graph::PlacementGuard guard(variables[0].node().graph(),
                                  {"clip_weights", slot, Phase::update});
      clip_update(variables, {limit}, args.condition);
    }
  };
  return optimizer;
}

}  // namespace belfry
