#pragma once
// The common parts of the update ops: shape rule, list of mutated inputs, reference kernel, node
// making. For the .cpp files of update ops.

#include <algorithm>
#include <array>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "belfry/framework/ops/random/draw.h"
#include "belfry/framework/ops/update/updates.h"

namespace belfry {

/// Checks the types of an update op's inputs; it has no outputs.
std::vector<TensorType> check_update(const ShapeContext& c, UpdateLayout layout,
                                     OptimizerState state);
/// The inputs that the op writes: variables and slots.
std::vector<int> mutated_inputs(UpdateLayout layout, std::size_t inputs);
/// The node's inputs, after checking the groups.
std::vector<Tensor> update_inputs(std::string_view op, int slots, std::vector<Tensor> scalars,
                                  std::span<const UpdateGroup> groups, Tensor condition);
/// The scalars that a kernel sees.
UpdateScalars read_scalars(const KernelContext& c, UpdateLayout layout);

template <template <class> class Rule>
std::vector<TensorType> update_shape(const ShapeContext& c) {
  const auto& options = c.as<typename Rule<float>::Options>();
  ensure(state_of(options) == OptimizerState::as_variable || !is_lazy(options, 2), c.op,
         ": lazy rows with slots of ", state_of(options));
  return check_update(c, update_layout<Rule>(options, c.inputs.size()), state_of(options));
}

template <template <class> class Rule>
std::vector<int> update_mutates(const Node& node) {
  std::size_t inputs = node.inputs().size();
  return mutated_inputs(update_layout<Rule>(node.as<typename Rule<float>::Options>(), inputs),
                        inputs);
}

/// Adds the node after checking the groups.
template <template <class> class Rule>
Node& apply_update(const OpDef& op, std::vector<Tensor> scalars,
                   std::span<const UpdateGroup> groups,
                   const typename Rule<float>::Options& options, Tensor condition) {
  if (state_of(options) != OptimizerState::as_variable && !groups.empty())
    scalars.push_back(random_state(groups[0].gradient.graph()));
  return apply(op,
               update_inputs(op.name, Rule<float>::slot_count(options), std::move(scalars), groups,
                             condition),
               options);
}

/// Whether a row has no gradient. NaN is one.
template <class T>
bool is_idle(const T* gradient, std::int64_t elements) {
  return std::all_of(gradient, gradient + elements,
                     [](T g) { return static_cast<compute_type<T>>(g) == 0; });
}

/// The random words that round elements 4 i .. 4 i + 3 of slots of this group.
BELFRY_HOST_DEVICE inline RandomBlock rounding_block(const std::int64_t* random_state,
                                                     std::int64_t group, std::int64_t i) {
  return {.key = philox_key(random_state[0], state_stream),
          .low = static_cast<std::uint64_t>(group) << 32 | i,
          .step = static_cast<std::uint64_t>(random_state[1]) & 0xffffffffffff};
}

/// Whether a slot of the rule may be below 0.
template <class Rule>
constexpr bool is_signed(int slot) {
  if constexpr (requires { Rule::is_signed(slot); })
    return Rule::is_signed(slot);
  else
    return true;
}

/// A slot of bf16 or of eight bits as floats, one for each of the variable's elements.
std::vector<float> unpack_slot(const ArrayView& slot, std::int64_t elements, bool is_signed);
/// The inverse for slot k of a group, rounded at random.
void pack_slot(std::span<const float> values, const std::int64_t* random_state, int group, int k,
               bool is_signed, const ArrayView& slot);

/// Calls f(T{}, rule, variable, gradient, slots) for each group, with pointers to T; for none if
/// the condition is false. A lazy rule is called for each row that is not idle. Slots that are kept
/// in fewer bits than T, which is float then, are unpacked before and packed behind.
template <template <class> class Rule, class F>
void for_each_group(const KernelContext& c, F&& f) {
  const auto& options = c.as<typename Rule<float>::Options>();
  UpdateLayout layout = update_layout<Rule>(options, c.inputs.size());
  if (layout.condition && !*c.input(layout.condition_input()).as<bool>()) return;
  UpdateScalars scalars = read_scalars(c, layout);
  for (int g = 0; g < layout.groups(c.inputs.size()); ++g) {
    const ArrayView& variable = c.input(layout.variable(g));
    dispatch_floating(variable.dtype(), c.op, [&](auto t) {
      using T = decltype(t);
      using Compute = Rule<compute_type<T>>;
      auto rule = Compute::template make<StdMath>(options, scalars, variable.shape().rank());
      std::int64_t elements = variable.elements();
      bool by_rows = is_lazy(options, variable.shape().rank()) && elements > 0;
      std::int64_t row = by_rows ? elements / variable.shape()[0] : elements;
      auto* gradient = c.input(layout.gradient(g)).template as<const T>();
      std::array<std::vector<float>, 3> unpacked;
      auto slot = [&](int k) { return c.input(layout.slot(g, k)); };
      auto values = [&](int k) {
        if constexpr (std::is_same_v<T, float>)
          if (layout.random) return unpacked[k].data();
        return slot(k).template as<T>();
      };
      for (int k = 0; layout.random && k < layout.slots; ++k)
        unpacked[k] = unpack_slot(slot(k), elements, is_signed<Compute>(k));
      for (std::int64_t begin = 0; begin < elements; begin += row) {
        if (by_rows && is_idle(gradient + begin, row)) continue;
        std::array<T*, 3> slots{};
        for (int k = 0; k < layout.slots; ++k) slots[k] = values(k) + begin;
        f(t, rule, std::span<T>(variable.template as<T>() + begin, static_cast<std::size_t>(row)),
          gradient + begin, slots);
      }
      for (int k = 0; layout.random && k < layout.slots; ++k)
        pack_slot(unpacked[k], c.input(layout.random_state()).template as<const std::int64_t>(), g,
                  k, is_signed<Compute>(k), slot(k));
    });
  }
}

/// Applies the rule to each element.
template <template <class> class Rule, class T>
void update_elements(const Rule<compute_type<T>>& rule, std::span<T> variable, const T* gradient,
                     const std::array<T*, 3>& slots) {
  using C = compute_type<T>;
  constexpr std::size_t max_slots = Rule<C>::max_slots;
  for (std::size_t i = 0; i < variable.size(); ++i) {
    std::array<C, max_slots + 1> values{};
    for (std::size_t k = 0; k < max_slots; ++k)
      if (slots[k]) values[k] = static_cast<C>(slots[k][i]);
    C value = static_cast<C>(variable[i]);
    rule.template apply<StdMath>(value, static_cast<C>(gradient[i]), values.data());
    variable[i] = static_cast<T>(value);
    for (std::size_t k = 0; k < max_slots; ++k)
      if (slots[k]) slots[k][i] = static_cast<T>(values[k]);
  }
}

template <template <class> class Rule>
void update_reference(const KernelContext& c) {
  for_each_group<Rule>(
      c, [](auto, const auto& rule, auto variable, auto* gradient, const auto& slots) {
        update_elements<Rule>(rule, variable, gradient, slots);
      });
}

/// The OpDef of an update op whose formula is elementwise.
template <template <class> class Rule>
constexpr OpDef update_op() {
  return {.name = Rule<float>::name,
          .shape = update_shape<Rule>,
          .reference = update_reference<Rule>,
          .mutates = update_mutates<Rule>};
}

}  // namespace belfry
