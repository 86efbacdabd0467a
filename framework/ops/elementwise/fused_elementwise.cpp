#include "belfry/framework/ops/elementwise/fused_elementwise.h"

#include <algorithm>

#include "belfry/framework/ops/defs.h"
#include "belfry/framework/ops/elementwise/elementwise.h"

namespace belfry {
namespace {

/// The types of an instruction's arguments, or of whatever `values` holds.
template <class Value>
std::vector<Value> arguments_of(const FusedInstruction& instruction,
                                std::span<const Value> values) {
  std::vector<Value> out;
  for (int argument : instruction.arguments) {
    if (argument < 0) break;
    ensure(argument < std::ssize(values), "fused_elementwise: ", instruction.op->name,
           " reads value ", argument, " of ", values.size());
    out.push_back(values[argument]);
  }
  return out;
}

/// The types of all values inside, the inputs' first.
std::vector<TensorType> value_types(std::span<const TensorType> inputs,
                                    const FusedOptions& options) {
  std::vector<TensorType> types;
  for (const TensorType& input : inputs)
    types.push_back({input.shape, type_inside(options, input.dtype)});
  for (const FusedInstruction& instruction : options.program) {
    ensure(instruction.op && instruction.op->elementwise,
           "fused_elementwise: an instruction is not elementwise");
    auto arguments = arguments_of<TensorType>(instruction, types);
    types.push_back(instruction.op->shape({instruction.op->name, arguments, {}})[0]);
  }
  return types;
}

std::vector<TensorType> shape_rule(const ShapeContext& c) {
  const auto& options = c.as<FusedOptions>();
  ensure(!options.program.empty(), "fused_elementwise: the program is empty");
  TensorType out = value_types(c.inputs, options).back();
  for (const TensorType& input : c.inputs)
    ensure(broadcast(out.shape, input.shape, c.op) == out.shape, "fused_elementwise: input ", input,
           " does not broadcast to the output ", out);
  return {{out.shape, options.casts ? options.result : out.dtype}};
}

void cast_to(const ArrayView& from, ArrayView to) {
  cast_op.reference({cast_op.name, {&from, 1}, {&to, 1}, CastOptions{to.type.dtype}});
}

void reference(const KernelContext& c) {
  const auto& options = c.as<FusedOptions>();
  std::vector<TensorType> inputs;
  for (const ArrayView& input : c.inputs) inputs.push_back(input.type);
  std::vector<TensorType> types = value_types(inputs, options);
  std::vector<ArrayView> values;
  std::vector<Array> made;
  auto make = [&](const TensorType& type) {
    made.emplace_back(type);
    return ArrayView{type, made.back().raw()};
  };
  for (const ArrayView& input : c.inputs) {
    const TensorType& inside = types[values.size()];
    values.push_back(input.type == inside ? input : make(inside));
    if (input.type != inside) cast_to(input, values.back());
  }
  for (const FusedInstruction& instruction : options.program) {
    auto arguments = arguments_of<ArrayView>(instruction, values);
    const TensorType& type = types[values.size()];
    bool last = values.size() + 1 == types.size() && type == c.output().type;
    ArrayView out = last ? c.output() : make(type);
    instruction.op->reference({instruction.op->name, arguments, {&out, 1}, {}});
    values.push_back(out);
  }
  if (types.back() != c.output().type) cast_to(values.back(), c.output());
}

double flops(const Node& node) {
  return static_cast<double>(node.as<FusedOptions>().program.size())
         * node.output().shape.elements();
}

}  // namespace

std::string to_string(const std::vector<FusedInstruction>& program) {
  // Results are numbered from the number of inputs, which follows: each result but the last is read
  // by a later instruction, the last but one by the last.
  int result = 0;
  for (std::size_t i = 0; i < program.size(); ++i)
    for (int argument : program[i].arguments)
      result = std::max(result, argument + 1 - static_cast<int>(i));
  std::string out;
  for (const FusedInstruction& instruction : program) {
    if (!out.empty()) out += "; ";
    out += concat("v", result++, "=", instruction.op->name, "(");
    for (std::size_t k = 0; k < 3 && instruction.arguments[k] >= 0; ++k)
      out += concat(k > 0 ? "," : "", "v", instruction.arguments[k]);
    out += ")";
  }
  return out;
}

const OpDef fused_elementwise_op{.name = "fused_elementwise",
                                 .shape = shape_rule,
                                 .reference = reference,
                                 .in_place = any_input,
                                 .flops = flops};

Tensor fused_elementwise(std::vector<Tensor> inputs, FusedOptions options) {
  return apply1(fused_elementwise_op, std::move(inputs), std::move(options));
}

DType type_inside(const FusedOptions& options, DType input) {
  return options.casts && input != DType::boolean ? DType::f32 : input;
}

}  // namespace belfry
