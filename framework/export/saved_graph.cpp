#include "belfry/framework/export/saved_graph.h"

namespace belfry::saved {

const Value& Node::option(std::string_view name) const {
  for (const Option& option : options)
    if (option.name == name) return option.value;
  fail(*this, ": has no option `", name, "`");
}

std::string to_string(const Node& node) {
  return node.scope.empty() ? node.op : concat(node.op, " (at ", node.scope, ")");
}

bool is_run_input(std::string_view name) { return name.starts_with("run/"); }

std::vector<const Node*> Signature::inputs() const {
  std::vector<const Node*> found;
  for (const Node& node : nodes) {
    if (node.op != "input") continue;
    const auto* name = std::get_if<std::string>(&node.option("name"));
    require(name, node, ": its name is no text");
    if (!is_run_input(*name)) found.push_back(&node);
  }
  return found;
}

const Type& Signature::type(Operand operand) const {
  return nodes[operand.node].outputs[operand.output];
}

}  // namespace belfry::saved
