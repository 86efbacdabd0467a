#include "belfry/framework/ops/update/update_rule.h"

#include <set>

namespace belfry {
namespace {

void check_group(const ShapeContext& c, UpdateLayout layout, OptimizerState state, int group) {
  auto input = [&](int i) { return c.inputs[i]; };
  TensorType variable = input(layout.variable(group));
  require(is_floating(variable.dtype), c.op, ": variable ", group, " is ", variable,
          "; only floating variables can be updated");
  DType first = input(layout.variable(0)).dtype;
  require(variable.dtype == first, c.op, ": variable ", group, " is ", variable,
          " but variable 0 is of type ", first, "; update each dtype with a node of its own");
  TensorType gradient = input(layout.gradient(group));
  require(gradient == variable, c.op, ": variable ", group, " is ", variable,
          " but its gradient is ", gradient);
  for (int k = 0; k < layout.slots; ++k) {
    TensorType slot = input(layout.slot(group, k)), expected = slot_type(variable, state);
    require(slot == expected, c.op, ": variable ", group, " is ", variable, " but its slot ", k,
            " is ", slot,
            state == OptimizerState::as_variable ? "" : concat("; expected ", expected));
  }
}

}  // namespace

std::vector<TensorType> check_update(const ShapeContext& c, UpdateLayout layout,
                                     OptimizerState state) {
  int groups = layout.groups(c.inputs.size());
  ensure(groups > 0 && std::ssize(c.inputs) == layout.variable(groups), c.op, ": ", c.inputs.size(),
         " inputs are not ", layout.scalars, " scalars, perhaps a condition, and groups of ",
         layout.group_size());
  require((c.inputs[0] == TensorType{{}, DType::f32}), c.op, ": the learning rate is ", c.inputs[0],
          "; expected f32[]");
  if (layout.scalars > 1)
    require((c.inputs[1] == TensorType{{}, DType::i64}), c.op, ": the step is ", c.inputs[1],
            "; expected i64[]");
  if (layout.random) {
    TensorType random = c.inputs[layout.random_state()];
    require((random == TensorType{{3}, DType::i64}), c.op, ": the random state is ", random,
            "; expected i64[3]");
  }
  if (layout.condition) {
    TensorType condition = c.inputs[layout.condition_input()];
    require((condition == TensorType{{}, DType::boolean}), c.op, ": the condition is ", condition,
            "; expected bool[]");
  }
  for (int g = 0; g < groups; ++g) check_group(c, layout, state, g);
  return {};
}

std::vector<int> mutated_inputs(UpdateLayout layout, std::size_t inputs) {
  std::vector<int> out;
  for (int g = 0; g < layout.groups(inputs); ++g) {
    out.push_back(layout.variable(g));
    for (int k = 0; k < layout.slots; ++k) out.push_back(layout.slot(g, k));
  }
  return out;
}

std::vector<Tensor> update_inputs(std::string_view op, int slots, std::vector<Tensor> scalars,
                                  std::span<const UpdateGroup> groups, Tensor condition) {
  require(!groups.empty(), op, ": no variables to update");
  std::vector<Tensor> inputs = std::move(scalars);
  if (condition.defined()) inputs.push_back(condition);
  std::set<Tensor> written;
  auto add_written = [&](const Variable& variable) {
    require(written.insert(variable.value()).second, op, ": variable `", variable.name(),
            "` is listed twice");
    inputs.push_back(variable);
  };
  for (const UpdateGroup& group : groups) {
    require(group.variable != Variable(), op, ": a variable is undefined");
    require(std::ssize(group.slots) == slots, op, ": variable `", group.variable.name(),
            "` comes with ", group.slots.size(), " slots; expected ", slots);
    add_written(group.variable);
    inputs.push_back(group.gradient);
    for (const Variable& slot : group.slots) add_written(slot);
  }
  return inputs;
}

UpdateScalars read_scalars(const KernelContext& c, UpdateLayout layout) {
  return {*c.input(0).as<float>(), layout.scalars > 1 ? *c.input(1).as<std::int64_t>() : 0};
}

}  // namespace belfry
