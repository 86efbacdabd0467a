#include "belfry/framework/export/onnx/onnx_model.h"

#include <algorithm>

#include "belfry/framework/export/instantiate.h"
#include "belfry/framework/export/onnx/converter.h"
#include "belfry/framework/runtime/evaluate.h"

namespace belfry::onnx {
namespace {

// For each node: whether it depends on weights alone, and has one output of one size.
std::vector<bool> known_nodes(const saved::Signature& signature) {
  std::vector<bool> known;
  for (const saved::Node& node : signature.nodes) {
    bool leaf = node.op == "constant" || node.op == "variable";
    bool computed = !node.inputs.empty()
                    && std::all_of(node.inputs.begin(), node.inputs.end(), [&](const Operand& o) {
                         return o.output == 0 && known[static_cast<std::size_t>(o.node)];
                       });
    known.push_back((leaf || computed) && node.outputs.size() == 1
                    && !node.outputs[0].follows_batch());
  }
  return known;
}

// The values of known nodes that others read.
std::map<int, Array> known_values(const saved::Signature& signature, const NamedArrays& weights) {
  std::vector<bool> known = known_nodes(signature);
  std::set<int> wanted;
  auto want = [&](const Operand& o) {
    if (known[static_cast<std::size_t>(o.node)]) wanted.insert(o.node);
  };
  for (std::size_t i = 0; i < known.size(); ++i)
    if (!known[i])
      std::for_each(signature.nodes[i].inputs.begin(), signature.nodes[i].inputs.end(), want);
  for (const auto& [name, output] : signature.outputs) want(output);
  saved::Signature part{signature.nodes, {}};
  for (int node : wanted) part.outputs.emplace_back(text(node), Operand{node, 0});
  std::map<int, Array> values;
  // Nodes that nobody wants stay here as known, so that they are not converted.
  for (std::size_t i = 0; i < known.size(); ++i)
    if (known[i]) values[static_cast<int>(i)] = {};
  if (wanted.empty()) return values;
  saved::GraphOf built = saved::instantiate(part, 2);
  auto results = evaluate(built.outputs, {weights.begin(), weights.end()}, {.fast = false});
  auto result = results.begin();
  for (int node : wanted) values[node] = *result++;
  return values;
}

}  // namespace

OnnxGraph convert(const saved::Signature& signature, const NamedArrays& weights,
                  const std::string& name) {
  return Converter(signature, known_values(signature, weights)).convert(name);
}

std::vector<std::byte> to_onnx(const saved::Signature& signature, const NamedArrays& weights,
                               const std::string& name) {
  return to_bytes(convert(signature, weights, name));
}

Conversion find_conversion(std::string_view op) {
  static const Conversions all = [] {
    Conversions table;
    for (const Conversions& part :
         {elementwise_conversions(), movement_conversions(), reduction_conversions(),
          image_conversions(), sequence_conversions()})
      table.insert(part.begin(), part.end());
    return table;
  }();
  auto found = all.find(op);
  return found == all.end() ? nullptr : found->second;
}

}  // namespace belfry::onnx
