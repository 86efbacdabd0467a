#include <set>

#include "belfry/framework/ops/update/updates.h"

namespace belfry {
namespace {

std::vector<TensorType> shape(const ShapeContext& c) {
  AverageLayout layout{c.inputs.size()};
  auto input = [&](int i) { return c.inputs[i]; };
  ensure(layout.groups() > 0 && layout.inputs % 3 < 2, c.op, ": ", layout.inputs,
         " inputs are not groups of 3, perhaps after a condition");
  if (layout.condition())
    require((input(0) == TensorType{{}, DType::boolean}), c.op, ": the condition is ", input(0),
            "; expected bool[]");
  for (int g = 0; g < layout.groups(); ++g) {
    TensorType variable = input(layout.variable(g)), average = input(layout.average(g)),
               count = input(layout.count(g));
    require(is_floating(variable.dtype), c.op, ": variable ", g, " is ", variable,
            "; only floating variables have averages");
    require(average == variable, c.op, ": variable ", g, " is ", variable, " but its average is ",
            average);
    require((count == TensorType{{}, DType::i64}), c.op, ": the count of variable ", g, " is ",
            count, "; expected i64[]");
  }
  return {};
}

void reference(const KernelContext& c) {
  AverageLayout layout{c.inputs.size()};
  if (layout.condition() && !*c.input(0).as<bool>()) return;
  for (int g = 0; g < layout.groups(); ++g) {
    const ArrayView& variable = c.input(layout.variable(g));
    auto* count = c.input(layout.count(g)).as<std::int64_t>();
    dispatch_floating(variable.dtype(), c.op, [&](auto t) {
      using T = decltype(t);
      using C = compute_type<T>;
      auto rule = update::MovingAverage<C>::make(c.as<MovingAverageUpdateOptions>(), *count);
      const T* value = variable.as<const T>();
      T* average = c.input(layout.average(g)).as<T>();
      for (std::int64_t i = 0; i < variable.elements(); ++i) {
        C mean = static_cast<C>(average[i]);
        rule.apply(mean, static_cast<C>(value[i]));
        average[i] = static_cast<T>(mean);
      }
    });
    ++*count;
  }
}

// Variables among them: see updates.h.
std::vector<int> mutates(const Node& node) {
  AverageLayout layout{node.inputs().size()};
  std::vector<int> out;
  for (int i = layout.variable(0); i < static_cast<int>(layout.inputs); ++i) out.push_back(i);
  return out;
}

}  // namespace

const OpDef moving_average_update_op{
    .name = "moving_average_update", .shape = shape, .reference = reference, .mutates = mutates};

Node& moving_average_update(std::span<const AverageGroup> groups,
                            const MovingAverageUpdateOptions& options, Tensor condition) {
  std::string_view op = moving_average_update_op.name;
  require(!groups.empty(), op, ": no variables to average");
  std::vector<Tensor> inputs;
  if (condition.defined()) inputs.push_back(condition);
  std::set<Tensor> listed;
  for (const AverageGroup& group : groups)
    for (const Variable& variable : {group.variable, group.average, group.count}) {
      require(variable != Variable(), op, ": a variable is undefined");
      require(listed.insert(variable.value()).second, op, ": variable `", variable.name(),
              "` is listed twice");
      inputs.push_back(variable);
    }
  return apply(moving_average_update_op, std::move(inputs), options);
}

}  // namespace belfry
