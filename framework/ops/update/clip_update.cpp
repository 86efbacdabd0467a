#include "belfry/framework/ops/update/clip_update.h"

#include <numeric>
#include <set>

#include "belfry/framework/ops/elementwise/elementwise.h"

namespace belfry {
namespace {

std::vector<TensorType> shape(const ShapeContext& c) {
  const auto& o = c.as<ClipUpdateOptions>();
  require(o.limit > 0, c.op, ": the limit is ", o.limit, "; it must be above 0");
  bool conditional = c.inputs[0].dtype == DType::boolean;
  if (conditional)
    require(c.inputs[0].shape.rank() == 0, c.op, ": the condition is ", c.inputs[0],
            "; expected bool[]");
  for (std::size_t i = conditional ? 1 : 0; i < c.inputs.size(); ++i)
    require(is_floating(c.inputs[i].dtype), c.op, ": variable ", i - (conditional ? 1 : 0), " is ",
            c.inputs[i], "; only floating variables are clipped");
  return {};
}

void reference(const KernelContext& c) {
  std::size_t first = c.input(0).dtype() == DType::boolean ? 1 : 0;
  if (first == 1 && !*c.input(0).as<bool>()) return;
  for (const ArrayView& variable : c.inputs.subspan(first))
    dispatch_floating(variable.dtype(), c.op, [&](auto t) {
      using T = decltype(t);
      using C = compute_type<T>;
      auto rule = update::Clip<C>::make(c.as<ClipUpdateOptions>());
      T* values = variable.as<T>();
      for (std::int64_t i = 0; i < variable.elements(); ++i)
        values[i] = static_cast<T>(rule.apply(static_cast<C>(values[i])));
    });
}

std::vector<int> mutates(const Node& node) {
  ClipLayout layout(node);
  std::vector<int> out(layout.variables);
  std::iota(out.begin(), out.end(), layout.variable(0));
  return out;
}

}  // namespace

const OpDef clip_update_op{
    .name = "clip_update", .shape = shape, .reference = reference, .mutates = mutates};

Node& clip_update(std::span<const Variable> variables, const ClipUpdateOptions& options,
                  Tensor condition) {
  std::string_view op = clip_update_op.name;
  require(!variables.empty(), op, ": no variables to clip");
  std::vector<Tensor> inputs;
  if (condition.defined()) {
    require(condition.dtype() == DType::boolean, op, ": the condition is ", condition.type(),
            "; expected bool[]");
    inputs.push_back(condition);
  }
  std::set<Tensor> listed;
  for (const Variable& variable : variables) {
    require(variable != Variable(), op, ": a variable is undefined");
    require(listed.insert(variable.value()).second, op, ": variable `", variable.name(),
            "` is listed twice");
    inputs.push_back(variable);
  }
  return apply(clip_update_op, std::move(inputs), options);
}

}  // namespace belfry
