#include "belfry/framework/ops/update/rows_update.h"

#include <iterator>

#include "belfry/framework/ops/defs.h"
#include "belfry/framework/ops/movement/gather.h"

namespace belfry {
namespace {

template <template <class> class Rule>
RowsForm form(const OpDef& update, const OpDef& rows_update) {
  using O = typename Rule<float>::Options;
  return {
      update, rows_update,
      [](const Node& node) { return update_layout<Rule>(node.as<O>(), node.inputs().size()); },
      [](const Node& node, int rank) { return Rule<float>::keeps_idle_rows(node.as<O>(), rank); },
      [](const Node& node, std::vector<int> lookups) {
        return Options(RowsUpdateOptions<O>{node.as<O>(), std::move(lookups)});
      }};
}

void check_group(const ShapeContext& c, const RowsGroup& group) {
  auto input = [&](int i) { return c.inputs[i]; };
  TensorType variable = input(group.variable);
  require(is_floating(variable.dtype) && variable.shape.rank() >= 1, c.op, ": the variable is ",
          variable, "; expected a floating table");
  for (int k = 0; k < group.slots; ++k)
    require(input(group.slot(k)) == variable, c.op, ": the variable is ", variable,
            " but its slot ", k, " is ", input(group.slot(k)));
  for (int l = 0; l < group.lookups; ++l) {
    std::vector<TensorType> types{variable, input(group.indices(l))};
    TensorType rows = gather_shape({c.op, types, Options(AxisOptions{0})})[0];
    require(input(group.rows(l)) == rows, c.op, ": the gradient of look-up ", l, " is ",
            input(group.rows(l)), "; expected ", rows);
  }
}

}  // namespace

RowsLayout rows_layout(int scalars, int slots, const std::vector<int>& lookups,
                       std::size_t inputs) {
  RowsLayout layout{.scalars = scalars};
  int end = scalars;
  for (int count : lookups) {
    layout.groups.push_back({end, slots, count});
    end = layout.groups.back().rows(count);
  }
  layout.condition = static_cast<int>(inputs) == end + 1;
  if (layout.condition)
    for (RowsGroup& group : layout.groups) ++group.variable;
  return layout;
}

std::vector<TensorType> check_rows_update(const ShapeContext& c, const RowsLayout& layout) {
  ensure(!layout.groups.empty(), c.op, ": no variables to update");
  const RowsGroup& last = layout.groups.back();
  ensure(std::ssize(c.inputs) == last.rows(last.lookups), c.op, ": ", c.inputs.size(),
         " inputs are not what its options say");
  require((c.inputs[0] == TensorType{{}, DType::f32}), c.op, ": the learning rate is ", c.inputs[0],
          "; expected f32[]");
  for (const RowsGroup& group : layout.groups) check_group(c, group);
  return {};
}

std::vector<int> mutated_inputs(const RowsLayout& layout) {
  std::vector<int> out;
  for (const RowsGroup& group : layout.groups) {
    out.push_back(group.variable);
    for (int k = 0; k < group.slots; ++k) out.push_back(group.slot(k));
  }
  return out;
}

const RowsForm* rows_form(const OpDef& update) {
  static const RowsForm forms[] = {
      form<update::Sgd>(sgd_update_op, sgd_rows_update_op),
      form<update::Momentum>(momentum_update_op, momentum_rows_update_op),
      form<update::Adam>(adam_update_op, adam_rows_update_op),
      form<update::Adagrad>(adagrad_update_op, adagrad_rows_update_op),
      form<update::Ftrl>(ftrl_update_op, ftrl_rows_update_op)};
  for (const RowsForm& form : forms)
    if (&form.update == &update) return &form;
  return nullptr;
}

}  // namespace belfry
