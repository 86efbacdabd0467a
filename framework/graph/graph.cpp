#include "belfry/framework/graph/graph.h"

#include <algorithm>
#include <utility>

#include "belfry/framework/graph/leaves.h"
#include "belfry/framework/graph/scope.h"

namespace belfry {

Node& Tensor::node() const {
  require(defined(), "tensor: undefined; it was default-constructed and never assigned");
  return *node_;
}

Graph& Tensor::graph() const { return node().graph(); }

const TensorType& Tensor::type() const { return node().output(index_); }

std::int64_t Tensor::size(int axis) const {
  return shape()[normalize_axis(axis, rank(), "tensor: size")];
}

bool Node::is_in(std::string_view scope) const {
  if (!scope_.starts_with(scope)) return false;
  return scope.empty() || scope_.size() == scope.size() || scope_[scope.size()] == '/';
}

std::vector<Tensor> outputs_of(Node& node) {
  std::vector<Tensor> out;
  for (int i = 0; i < std::ssize(node.outputs()); ++i) out.emplace_back(node, i);
  return out;
}

std::string to_string(const Node& node) {
  std::string out(node.op().name);
  return node.scope().empty() ? out : out + " (at " + node.scope() + ")";
}

Graph::Graph(int towers) : towers_(towers) {}
Graph::~Graph() = default;

Node& Graph::add(const OpDef& op, std::vector<Tensor> inputs, Options options,
                 const Placement& placement) {
  auto node = std::make_unique<Node>();
  try {
    require_defined(op.name, inputs);
    if (input_rule_) input_rule_(op, inputs);
    std::vector<TensorType> types;
    types.reserve(inputs.size());
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      require(&inputs[i].graph() == this, op.name, ": input ", i,
              " belongs to another graph; "
              "tensors live only as long as the model_fn call that made them");
      types.push_back(inputs[i].type());
    }
    node->outputs_ = op.shape({op.name, types, options});
  } catch (Error& error) {
    if (!placement.scope.empty()) error.add_context("at " + placement.scope);
    throw;
  }
  node->op_ = &op;
  node->graph_ = this;
  node->id_ = nodes_.size();
  node->inputs_ = std::move(inputs);
  node->options_ = std::move(options);
  node->scope_ = placement.scope;
  node->device_ = placement.device;
  node->phase_ = placement.phase;
  node->first_row_ = std::max(first_row_, placement.first_row);
  Node& added = *nodes_.emplace_back(std::move(node));
  if (op.mutates) {
    for (int i : added.mutated())
      ensure(added.input(i).node().is(variable_op), added, ": input ", i,
             " is written in place but is not a variable");
    effects_.push_back(&added);
  }
  if (added.is(variable_op)) variables_.push_back(&added);
  return added;
}

void Graph::place(Node& node, int device) {
  ensure(&node.graph() == this && device >= 0, "place: ", node, " cannot go to device ", device);
  node.device_ = device;
}

void Graph::begin_micro_batch(std::int64_t first_row) {
  first_row_ = first_row;
  streams_.clear();
}

Node* Graph::find_variable(std::string_view name) const {
  for (Node* v : variables_)
    if (v->as<VariableOptions>().name == name) return v;
  return nullptr;
}

Node* Graph::find_input(std::string_view name) const {
  for (const auto& node : nodes_)
    if (node->is(input_op) && node->as<InputOptions>().name == name) return node.get();
  return nullptr;
}

Graph::PlacementGuard::PlacementGuard(Graph& graph, Placement placement)
    : graph_(graph),
      previous_(
          std::exchange(graph.placement_, std::make_unique<Placement>(std::move(placement)))) {}

Graph::PlacementGuard::~PlacementGuard() { graph_.placement_ = std::move(previous_); }

Placement Graph::default_placement(std::span<const Tensor> inputs) const {
  if (placement_) return *placement_;
  // Leaves have no place of their own that would say anything about their reader.
  for (const Tensor& t : inputs)
    if (t.defined() && t.node().op().reference)
      return {t.node().scope(), t.node().device(), t.node().phase()};
  if (!inputs.empty() && inputs[0].defined())
    return {inputs[0].node().scope(), inputs[0].node().device(), inputs[0].node().phase()};
  return {};
}

void require_defined(std::string_view op, std::span<const Tensor> operands) {
  for (std::size_t i = 0; i < operands.size(); ++i)
    require(operands[i].defined(), op, ": input ", i, " is undefined");
}

Node& apply(const OpDef& op, std::vector<Tensor> inputs, Options options) {
  require(!inputs.empty(), op.name, ": no inputs, so its graph is unknown; pass a Scope");
  require_defined(op.name, {inputs[0]});
  Graph& graph = inputs[0].graph();
  Placement placement = graph.default_placement(inputs);
  return graph.add(op, std::move(inputs), std::move(options), placement);
}

Node& apply(const OpDef& op, const Scope& scope, std::vector<Tensor> inputs, Options options) {
  return scope.graph().add(op, std::move(inputs), std::move(options), scope.placement());
}

Tensor apply1(const OpDef& op, std::vector<Tensor> inputs, Options options) {
  return Tensor(apply(op, std::move(inputs), std::move(options)));
}

Tensor GradContext::output(int i) const { return Tensor(const_cast<Node&>(node_), i); }

std::vector<TensorType> same_shape(const ShapeContext& c) { return {c.inputs[0]}; }

std::vector<Tensor> no_gradient(const GradContext& c) {
  return std::vector<Tensor>(c.node().inputs().size());
}

int Graph::next_stream(const std::string& scope) { return streams_[scope]++; }

}  // namespace belfry
