#include "belfry/framework/graph/verify.h"

#include <set>

#include "belfry/framework/graph/leaves.h"

namespace belfry {
namespace {

void verify_node(const Graph& graph, const Node& node, int position) {
  ensure(node.id() == position, "verify: ", node, " has id ", node.id(), " at position ", position);
  std::vector<TensorType> types;
  for (const Tensor& t : node.inputs()) {
    ensure(t.defined() && &t.graph() == &graph, "verify: ", node, " reads another graph");
    ensure(t.node().id() < position, "verify: ", node, " reads ", t.node(), ", which comes later");
    ensure(t.index() >= 0 && t.index() < std::ssize(t.node().outputs()), "verify: ", node,
           " reads output ", t.index(), " of ", t.node(), ", which has ",
           t.node().outputs().size());
    types.push_back(t.type());
  }
  auto expected = node.op().shape({node.op().name, types, node.options()});
  ensure(std::equal(expected.begin(), expected.end(), node.outputs().begin(), node.outputs().end()),
         "verify: ", node, " has output types that its shape rule does not give");
  if (!node.op().mutates) return;
  ensure(node.outputs().empty(), "verify: effect ", node, " has outputs");
  for (int i : node.mutated())
    ensure(node.input(i).node().is(variable_op), "verify: ", node, " writes to input ", i,
           ", which is not a variable");
}

}  // namespace

void verify(const Graph& graph) {
  std::set<std::string> variables, inputs;
  for (std::size_t i = 0; i < graph.size(); ++i) {
    const Node& node = graph.node(i);
    verify_node(graph, node, i);
    if (node.is(variable_op)) {
      const auto& name = node.as<VariableOptions>().name;
      ensure(variables.insert(name).second, "verify: two variables are named ", name);
    } else if (node.is(input_op)) {
      const auto& name = node.as<InputOptions>().name;
      ensure(inputs.insert(name).second, "verify: two inputs are named ", name);
    }
  }
}

void verify(const Program& program) {
  verify(*program.graph);
  for (const Tensor& t : program.outputs)
    ensure(t.defined() && &t.graph() == program.graph.get(),
           "verify: an output is of another graph");
  for (const Node* n : program.effects)
    ensure(n && &n->graph() == program.graph.get()
               && (n->op().mutates || n->op().collective || n->outputs().empty()),
           "verify: an effect is of another graph or mutates nothing");
}

}  // namespace belfry
