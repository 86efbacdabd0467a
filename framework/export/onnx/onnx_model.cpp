#include "belfry/framework/export/onnx/onnx_model.h"

#include <algorithm>
#include <memory>
#include <set>

#include "belfry/framework/export/instantiate.h"
#include "belfry/framework/export/onnx/converter.h"
#include "belfry/framework/export/op_table.h"
#include "belfry/framework/runtime/evaluate.h"

namespace belfry::onnx {
namespace {

bool follows_batch(const saved::Option& option) {
  auto follows = [](const saved::Extent& extent) { return extent.follows_batch(); };
  if (const auto* extent = std::get_if<saved::Extent>(&option.value)) return follows(*extent);
  const auto* extents = std::get_if<std::vector<saved::Extent>>(&option.value);
  return extents && std::ranges::any_of(*extents, follows);
}

// For each node: whether it depends on weights alone, and has one output of one size.
std::vector<bool> known_nodes(const saved::Signature& signature) {
  std::vector<bool> known;
  for (const saved::Node& node : signature.nodes) {
    bool leaf = node.op == "constant" || node.op == "variable";
    bool computed = !node.inputs.empty()
                    && std::all_of(node.inputs.begin(), node.inputs.end(), [&](const Operand& o) {
                         return o.output == 0 && known[o.node];
                       });
    known.push_back((leaf || computed) && node.elements.empty()
                    && std::ranges::none_of(node.options, follows_batch) && node.outputs.size() == 1
                    && !node.outputs[0].follows_batch());
  }
  return known;
}

// Known nodes, with those whose value others read.
struct Known {
  explicit Known(const saved::Signature& signature) : nodes(known_nodes(signature)) {
    auto want = [&](const Operand& o) {
      if (nodes[o.node]) wanted.insert(o.node);
    };
    for (std::size_t i = 0; i < nodes.size(); ++i)
      if (!nodes[i])
        std::for_each(signature.nodes[i].inputs.begin(), signature.nodes[i].inputs.end(), want);
    for (const auto& [name, output] : signature.outputs) want(output);
  }

  // No values yet. Nodes that nobody wants stay so: as known they are not converted.
  std::map<int, Array> no_values() const {
    std::map<int, Array> values;
    for (std::size_t i = 0; i < nodes.size(); ++i)
      if (nodes[i]) values[i] = {};
    return values;
  }

  std::vector<bool> nodes;
  std::set<int> wanted;
};

std::map<int, Array> known_values(const saved::Signature& signature, const NamedArrays& weights) {
  Known known(signature);
  std::map<int, Array> values = known.no_values();
  if (known.wanted.empty()) return values;
  saved::Signature part{signature.nodes, {}};
  part.most_steps = signature.most_steps;
  for (int node : known.wanted) part.outputs.emplace_back(text(node), Operand{node, 0});
  saved::GraphOf built = saved::instantiate(part, {2, signature.most_steps});
  auto results = evaluate(built.outputs, {weights.begin(), weights.end()}, {.fast = false});
  auto result = results.begin();
  for (int node : known.wanted) values[node] = *result++;
  return values;
}

// Zeros, all in the same memory. Error: one of them alone is too large for a file.
std::map<int, Array> zeros_for_known(const saved::Signature& signature) {
  Known known(signature);
  std::map<int, Array> values = known.no_values();
  auto type = [&](int node) { return signature.type({node, 0}).at({}); };
  std::int64_t most = 0;
  for (int node : known.wanted) most = std::max(most, type(node).bytes());
  check_size(most);
  auto zeros = std::make_shared<Array>(Array::zeros({most}, DType::u8));
  for (int node : known.wanted) values[node] = Array(type(node), zeros->raw(), zeros);
  return values;
}

}  // namespace

OnnxGraph convert(const saved::Signature& signature, const NamedArrays& weights,
                  const std::string& name) {
  OnnxGraph graph = Converter(signature, known_values(signature, weights)).convert(name);
  graph.preparation = signature.preparation;
  return graph;
}

void check_convertible(const saved::Signature& signature, const std::string& name) {
  check_size(weight_bytes(Converter(signature, zeros_for_known(signature)).convert(name)));
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
          image_conversions(), sequence_conversions(), recurrent_conversions()})
      table.insert(part.begin(), part.end());
    return table;
  }();
  auto found = all.find(op);
  if (found != all.end()) return found->second;
  return saved::known_op(op).op->onnx.empty() ? nullptr : same_operator;
}

}  // namespace belfry::onnx
