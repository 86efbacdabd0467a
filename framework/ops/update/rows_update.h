#pragma once
// Updates of tables by rows: what an update op of updates.h does to a variable of which a step has
// looked up some rows, without a gradient as large as the variable. The compiler puts them in place
// of update ops (compiler/update_by_rows.cpp); the bits are the same. Inputs: scalars and condition
// as of the update op; then in groups, one a variable: the variable, its slots, and for each
// look-up the gradient of the rows and their indices.

#include <map>
#include <vector>

#include "belfry/framework/ops/movement/gather.h"
#include "belfry/framework/ops/update/update_rule.h"

namespace belfry {

extern const OpDef sgd_rows_update_op;
extern const OpDef momentum_rows_update_op;
extern const OpDef adam_rows_update_op;
extern const OpDef adagrad_rows_update_op;
extern const OpDef ftrl_rows_update_op;

/// Options of the update op, and how many look-ups each variable has, at least one.
template <class UpdateOptions>
struct RowsUpdateOptions {
  UpdateOptions update = {};
  std::vector<int> lookups = {};
  static void fields(auto& o, auto&& field) {
    UpdateOptions::fields(o.update, field);
    field("lookups", o.lookups);
  }
};

/// Where the inputs of one variable's group lie.
struct RowsGroup {
  int variable = 0, slots = 0, lookups = 0;  ///< the first of each; slots: how many slots

  int slot(int k) const { return variable + 1 + k; }
  int rows(int lookup) const { return variable + 1 + slots + 2 * lookup; }
  int indices(int lookup) const { return rows(lookup) + 1; }
};

/// Where the inputs of a rows update lie.
struct RowsLayout {
  int scalars = 1;         ///< as of UpdateLayout
  bool condition = false;  ///< whether there is one: input `scalars`
  std::vector<RowsGroup> groups = {};
};

/// If there is one more input than these need, it is the condition.
RowsLayout rows_layout(int scalars, int slots, const std::vector<int>& lookups, std::size_t inputs);
template <template <class> class Rule>
RowsLayout rows_layout(const RowsUpdateOptions<typename Rule<float>::Options>& o,
                       std::size_t inputs) {
  return rows_layout(Rule<float>::scalars, Rule<float>::slot_count(o.update), o.lookups, inputs);
}

/// How an update op is applied by rows.
struct RowsForm {
  const OpDef& update;
  const OpDef& rows_update;
  UpdateLayout (*layout)(const Node& update);
  /// Whether a row of a variable of this rank stays as it is where its gradient is 0.
  bool (*keeps_idle_rows)(const Node& update, int rank);
  Options (*options)(const Node& update, std::vector<int> lookups);
};
/// Null: it is not.
const RowsForm* rows_form(const OpDef& update);

// ---- what the op objects are made of ------------------------------------------------------------

std::vector<TensorType> check_rows_update(const ShapeContext& c, const RowsLayout& layout);
std::vector<int> mutated_inputs(const RowsLayout& layout);

/// The gradient of each row that was looked up, with the bits of gather_grad and of the sum of
/// several.
template <class T>
std::map<std::int64_t, std::vector<T>> gradients_of_rows(const KernelContext& c,
                                                         const RowsGroup& group) {
  using C = compute_type<T>;
  std::map<std::int64_t, std::vector<T>> totals;
  for (int l = 0; l < group.lookups; ++l) {
    RowIndex rows(c.op, c.input(group.indices(l)), c.input(group.variable).shape(), 0);
    std::size_t width = rows.inner;
    std::map<std::int64_t, std::vector<C>> sums;
    const T* dy = c.input(group.rows(l)).as<const T>();
    for (std::int64_t i = 0; i < rows.count; ++i) {
      std::vector<C>& sum = sums.try_emplace(rows.at(i), width).first->second;
      for (C& s : sum) s += static_cast<C>(*dy++);
    }
    for (const auto& [row, sum] : sums) {
      std::vector<T>& total = totals.try_emplace(row, width).first->second;
      for (std::size_t j = 0; j < width; ++j)
        total[j] = T(static_cast<C>(total[j]) + static_cast<C>(T(sum[j])));
    }
  }
  return totals;
}

template <template <class> class Rule>
void rows_update_reference(const KernelContext& c) {
  const auto& o = c.as<RowsUpdateOptions<typename Rule<float>::Options>>();
  RowsLayout layout = rows_layout<Rule>(o, c.inputs.size());
  if (layout.condition && !*c.input(layout.scalars).as<bool>()) return;
  UpdateScalars scalars = read_scalars(c, {.scalars = layout.scalars});
  for (const RowsGroup& group : layout.groups) {
    const ArrayView& variable = c.input(group.variable);
    dispatch_floating(variable.dtype(), c.op, [&](auto t) {
      using T = decltype(t);
      auto rule =
          Rule<compute_type<T>>::template make<StdMath>(o.update, scalars, variable.shape().rank());
      for (const auto& [row, gradient] : gradients_of_rows<T>(c, group)) {
        if (is_idle(gradient.data(), std::ssize(gradient))) continue;
        std::int64_t begin = row * std::ssize(gradient);
        std::array<T*, 3> slots{};
        for (int k = 0; k < group.slots; ++k)
          slots[k] = c.input(group.slot(k)).template as<T>() + begin;
        std::span<T> values(variable.as<T>() + begin, gradient.size());
        update_elements<Rule>(rule, values, gradient.data(), slots);
      }
    });
  }
}

/// The OpDef of a rule's rows update.
template <template <class> class Rule>
constexpr OpDef rows_update_op(std::string_view name) {
  using O = RowsUpdateOptions<typename Rule<float>::Options>;
  return {.name = name,
          .shape =
              [](const ShapeContext& c) {
                return check_rows_update(c, rows_layout<Rule>(c.as<O>(), c.inputs.size()));
              },
          .reference = rows_update_reference<Rule>,
          .mutates =
              [](const Node& node) {
                return mutated_inputs(rows_layout<Rule>(node.as<O>(), node.inputs().size()));
              }};
}

}  // namespace belfry
