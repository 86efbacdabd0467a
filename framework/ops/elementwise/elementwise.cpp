#include "belfry/framework/ops/elementwise/elementwise.h"

#include <numeric>

namespace belfry {
namespace {

std::string_view words(Domain domain) {
  switch (domain) {
    case Domain::floating:
      return "a floating type";
    case Domain::number:
      return "a number type";
    case Domain::any:
      return "any type";
    case Domain::boolean:
      return "bool";
  }
  return "";
}

TensorType broadcast_type(const ShapeContext& c, Domain domain) {
  std::span<const TensorType> operands = c.inputs;
  Shape shape;
  if (c.op == functor::Where::name) {
    require(operands[0].dtype == DType::boolean, c.op, ": the condition must be bool, got ",
            operands[0]);
    shape = operands[0].shape;
    operands = operands.subspan(1);
  }
  const TensorType& first = operands[0];
  for (const TensorType& operand : operands) {
    require(operand.dtype == first.dtype, c.op, ": ", first, " and ", operand,
            " have different dtypes; cast one of them");
    require(in_domain(operand.dtype, domain), c.op, ": expected ", words(domain), ", got ", operand,
            "; cast it first");
    shape = broadcast(shape, operand.shape, c.op);
  }
  return {shape, first.dtype};
}

}  // namespace

bool in_domain(DType dtype, Domain domain) {
  return dispatch(dtype, [&](auto t) { return detail::in_domain_of<decltype(t)>(domain); });
}

std::vector<TensorType> elementwise_type(const ShapeContext& c, Domain domain) {
  return {broadcast_type(c, domain)};
}

std::vector<TensorType> comparison_type(const ShapeContext& c, Domain domain) {
  return {{broadcast_type(c, domain).shape, DType::boolean}};
}

std::vector<int> any_input(const Node& node) {
  std::vector<int> inputs(node.inputs().size());
  std::iota(inputs.begin(), inputs.end(), 0);
  return inputs;
}

}  // namespace belfry
