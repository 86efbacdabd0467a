#include <map>

#include "belfry/framework/graph/graph.h"

namespace belfry {
namespace {

std::string reference(const Tensor& t) {
  std::string out = "%" + text(t.node().id());
  return t.node().outputs().size() > 1 ? out + "." + text(t.index()) : out;
}

std::string escaped(const std::string& s) {
  std::string out;
  for (char c : s) {
    if (c == '"' || c == '\\') out += '\\';
    out += c;
  }
  return out;
}

std::string dot_node(const Node& node) {
  return "  n" + text(node.id()) + " [label=\"" + escaped(std::string(node.op().name))
         + (node.scope().empty() ? "" : "\\n" + escaped(node.scope())) + "\"];\n";
}

}  // namespace

std::string to_text(const Graph& graph) {
  std::string out;
  for (const auto& node : graph) {
    std::string inputs;
    for (const Tensor& t : node->inputs()) inputs += (inputs.empty() ? "" : ", ") + reference(t);
    out += "%" + text(node->id()) + " = " + std::string(node->op().name) + "(" + inputs + ")";
    std::string options = to_string(node->options());
    if (!options.empty()) out += " " + options;
    if (!node->outputs().empty()) out += " : " + join(node->outputs(), ", ");
    if (!node->scope().empty()) out += "  # " + node->scope();
    out += "\n";
  }
  return out;
}

std::string to_dot(const Graph& graph) {
  std::map<std::string, std::string> clusters;
  std::string edges;
  for (const auto& node : graph) {
    clusters[node->scope().substr(0, node->scope().find('/'))] += dot_node(*node);
    for (const Tensor& t : node->inputs())
      edges += "  n" + text(t.node().id()) + " -> n" + text(node->id()) + " [label=\""
               + to_string(t.type()) + "\"];\n";
  }
  std::string out = "digraph belfry {\n  node [shape=box];\n";
  int number = 0;
  for (const auto& [name, nodes] : clusters) {
    if (name.empty()) {
      out += nodes;
    } else {
      out += "  subgraph cluster_" + text(number++) + " {\n  label=\"" + escaped(name) + "\";\n"
             + nodes + "  }\n";
    }
  }
  return out + edges + "}\n";
}

}  // namespace belfry
