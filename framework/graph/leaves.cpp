#include "belfry/framework/graph/leaves.h"

#include <cstring>

namespace belfry {
namespace {

std::vector<TensorType> input_shape(const ShapeContext& c) { return {c.as<InputOptions>().type}; }
std::vector<TensorType> constant_shape(const ShapeContext& c) {
  return {c.as<ConstantOptions>().value.type()};
}
std::vector<TensorType> variable_shape(const ShapeContext& c) {
  return {c.as<VariableOptions>().type};
}

std::vector<TensorType> assign_shape(const ShapeContext& c) {
  require(c.inputs[0] == c.inputs[1], "assign: the variable is ", c.inputs[0], " but the value is ",
          c.inputs[1]);
  return {};
}

void assign_reference(const KernelContext& c) {
  std::memcpy(c.input(0).data, c.input(1).data, c.input(0).type.bytes());
}

Tensor runtime_input(Graph& graph, std::string_view name, const TensorType& type) {
  if (Node* node = graph.find_input(name)) return Tensor(*node);
  return input(graph, std::string(name), type);
}

}  // namespace

const OpDef input_op{.name = "input", .shape = input_shape, .gradient = no_gradient};
const OpDef constant_op{.name = "constant", .shape = constant_shape, .gradient = no_gradient};
const OpDef variable_op{.name = "variable", .shape = variable_shape, .gradient = no_gradient};
const OpDef assign_op{.name = "assign",
                      .shape = assign_shape,
                      .reference = assign_reference,
                      .mutates = [](const Node&) { return std::vector<int>{0}; }};

Tensor input(Graph& graph, const std::string& name, const TensorType& type) {
  require(!graph.find_input(name), "input: the name `", name, "` is used twice");
  return Tensor(graph.add(input_op, {}, InputOptions{name, type}, {}));
}

Tensor constant(Graph& graph, Array value) {
  require(value.defined(), "constant: the value is undefined");
  return Tensor(
      graph.add(constant_op, {}, ConstantOptions{std::move(value)}, graph.default_placement({})));
}

Tensor constant(Graph& graph, double value, DType dtype) {
  return constant(graph, Array::scalar(value).cast(dtype));
}

Node& assign(Variable variable, Tensor value) { return apply(assign_op, {variable, value}); }

Tensor global_step(Graph& graph) {
  return runtime_input(graph, global_step_input, {{}, DType::i64});
}
Tensor random_state(Graph& graph) {
  std::string name(random_state_input);
  if (graph.first_row() > 0) name += "/" + text(graph.first_row());
  return runtime_input(graph, name, {{3}, DType::i64});
}
Tensor tower_weight(Graph& graph) {
  return runtime_input(graph, tower_weight_input, {{}, DType::f64});
}
Tensor tower_index(Graph& graph) {
  return runtime_input(graph, tower_index_input, {{}, DType::i64});
}

bool is_leaf(const Node& node) {
  return node.is(input_op) || node.is(constant_op) || node.is(variable_op);
}

const VariableOptions& Variable::options() const { return node_->as<VariableOptions>(); }

}  // namespace belfry
