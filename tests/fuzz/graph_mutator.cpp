#include "graph_mutator.h"

#include <algorithm>
#include <cstring>
#include <iterator>
#include <optional>
#include <string>
#include <vector>

#include "belfry/framework/base/error.h"
#include "belfry/framework/export/op_table.h"
#include "belfry/framework/ops/elementwise/elementwise.h"
#include "graph_nodes.h"
#include "json_mutator.h"

namespace belfry {
namespace {

std::vector<std::string> op_names() {
  std::vector<std::string> out{"stop_gradient",
                               "cast",
                               "sum",
                               "max",
                               "min",
                               "prod",
                               "argmax",
                               "argmin",
                               "softmax",
                               "log_softmax",
                               "reshape",
                               "broadcast_to",
                               "transpose",
                               "concat",
                               "slice",
                               "pad",
                               "gather",
                               "embedding_lookup",
                               "one_hot",
                               "matmul",
                               "conv2d",
                               "conv3d",
                               "conv2d_grad_input",
                               "conv3d_grad_input",
                               "max_pool",
                               "avg_pool",
                               "batch_norm_train",
                               "layer_norm",
                               "resize_nearest",
                               "resize_bilinear",
                               "random_uniform",
                               "random_normal",
                               "random_truncated_normal",
                               "dropout",
                               "recurrent",
                               "dot_product_attention",
                               "ctc_collapse",
                               "check_range",
                               "input",
                               "variable",
                               "constant"};
  for_each_functor([&](auto f) { out.emplace_back(f.op.name); });
  return out;
}

std::vector<std::string> words() {
  std::vector<std::string> out = op_names();
  for (const char* word : {"n",
                           "2*n",
                           "n+1",
                           "n-3",
                           "t",
                           "n*t",
                           "2*t-1",
                           "f32[n, 4]",
                           "f32[]",
                           "i64[3]",
                           "i32[n]",
                           "f64[n, 4]",
                           "bf16[4]",
                           "f16[n]",
                           "u8[2, 2]",
                           "bool[n, 4]",
                           "f32[0, n]",
                           "f32[1, 1, 1, 1]",
                           "f32[1048576, 33554432]",
                           "f32[n, 2, 2, 1]",
                           "run/random_state",
                           "run/global_step",
                           "x",
                           "w",
                           "f32",
                           "i64",
                           "bool",
                           "same",
                           "valid",
                           "[1, 1, 2, 2]",
                           "[0, 0]",
                           "[1, 1, 1, 1, 1, 1]",
                           "none",
                           "relu",
                           "lstm",
                           "gru",
                           "tanh",
                           "nan",
                           "inf",
                           "-inf",
                           "inputs",
                           "options",
                           "types",
                           "op",
                           "scope",
                           "value",
                           "tensor",
                           "results",
                           "examples",
                           "preparation",
                           "feature",
                           "stored",
                           "unit",
                           "default",
                           "bytes",
                           "image",
                           "floats",
                           "integers",
                           "name",
                           "type"})
    out.emplace_back(word);
  return out;
}

/// Changes the nodes of one signature.
class GraphMutator {
 public:
  GraphMutator(JsonMutator& mutator, Json& signature)
      : mutator_(mutator), signature_(with_results(signature)), nodes_(signature_["nodes"]) {}

  void change() {
    static const std::vector<std::string> ops = op_names();
    if (!nodes_.is_array() || nodes_.empty()) return insert();
    Json& node = mutator_.one_of(nodes_);
    if (!node.is_object()) return insert();
    switch (mutator_.below(9)) {
      case 0:
        node["op"] = mutator_.one_of(ops);
        break;
      case 1:
        node["inputs"].is_array() && !node["inputs"].empty()
            ? mutator_.one_of(node["inputs"]) = operand()
            : node["inputs"] = Json::array({operand()});
        break;
      case 2:
        node["inputs"].is_array() && mutator_.below(2) == 0 ? node["inputs"].push_back(operand())
                                                            : mutator_.change(node["inputs"]);
        break;
      case 3:
        mutator_.change(node["types"]);
        break;
      case 4:
        node["options"] = Json(mutator_.one_of(nodes_)).value("options", Json::object());
        break;
      case 5:
        mutator_.change(node.contains("value") ? node["value"] : node["options"]);
        break;
      case 6:
        insert();
        break;
      case 7:
        std::swap(node, mutator_.one_of(nodes_));
        break;
      default:
        mutator_.change(node["options"]);
    }
    if (mutator_.below(2) == 0) choose_result();
  }

 private:
  Json operand() {
    const std::size_t output = mutator_.below(4) == 0 ? mutator_.below(3) : 0;
    return Json::array({mutator_.below(nodes_.size() + 1), output});
  }

  // A member that is added moves the others, one of which `nodes_` refers to.
  static Json& with_results(Json& signature) {
    signature["results"];
    return signature;
  }

  void choose_result() { signature_["results"] = {{"y", Json::array({nodes_.size() - 1, 0})}}; }

  // Some of the known nodes behind the others, whose operands are mostly found again.
  void insert() {
    if (!nodes_.is_array()) nodes_ = Json::array();
    const char* known = graph_nodes[mutator_.below(std::size(graph_nodes))];
    const auto first = static_cast<std::int64_t>(nodes_.size());
    for (Json& node : Json::parse("[" + std::string(known) + "]")) {
      if (node.contains("inputs")) {
        for (Json& input : node["inputs"]) {
          const auto number = input[0].get<std::int64_t>();
          if (number >= 2) {
            input[0] = number - 2 + first;
          } else if (mutator_.below(3) == 0) {
            input = operand();
          }
        }
      }
      nodes_.push_back(node);
    }
    choose_result();
  }

  JsonMutator& mutator_;
  Json &signature_, &nodes_;
};

std::vector<TensorType> types_of(const saved::Node& node, const saved::Signature& signature,
                                 const saved::BatchSize& batch) {
  const saved::KnownOp& known = saved::known_op(node.op);
  require(node.inputs.size() >= known.fewest_inputs && node.inputs.size() <= known.most_inputs,
          "operands");
  const Options options = known.options(node.options, batch);
  std::vector<TensorType> types;
  for (const saved::Operand& operand : node.inputs)
    types.push_back(signature.nodes.at(operand.node).outputs.at(operand.output).at(batch));
  ShapeContext context{known.op->name, types, options};
  if (known.check) known.check(context);
  return known.op->shape(context);
}

// The types that follow from the operands, for sizes that are linear in n. A node that is in error
// keeps its own.
void set_types(saved::Signature& signature) {
  constexpr std::int64_t few = 2, more = 5;
  for (saved::Node& node : signature.nodes) {
    if (node.op == "constant") continue;
    try {
      auto small = types_of(node, signature, {few, signature.most_steps});
      auto large = types_of(node, signature, {more, signature.most_steps});
      std::vector<saved::Type> types;
      for (std::size_t i = 0; i < small.size(); ++i) {
        saved::Type type{.dtype = small[i].dtype};
        for (int axis = 0; axis < small[i].shape.rank(); ++axis) {
          const std::int64_t a = small[i].shape[axis], b = large.at(i).shape[axis];
          const std::int64_t per_row = (b - a) / (more - few);
          type.sizes.push_back({.fixed = a - few * per_row, .per_row = per_row});
        }
        types.push_back(type);
      }
      node.outputs = types;
    } catch (const std::exception&) {
    }
  }
}

std::optional<std::string> with_right_types(const std::string& json) {
  try {
    saved::Model model = saved::model_from_json(json, graph_weights());
    for (auto& [name, signature] : model.signatures) set_types(signature);
    NamedArrays weights = graph_weights();
    return saved::to_json(model, weights);
  } catch (const Error&) {
    return std::nullopt;
  }
}

}  // namespace

const NamedArrays& graph_weights() {
  static const NamedArrays weights{{"w", Array::zeros({4, 2})},
                                   {"t", Array::zeros({4}, DType::i64)}};
  return weights;
}

std::size_t mutate_graph(std::uint8_t* data, std::size_t size, std::size_t max_size,
                         unsigned seed) {
  static const std::vector<std::string> known = words();
  JsonMutator mutator(seed, known);
  const std::size_t changed = mutate_json(data, size, max_size, seed, [&](Json& document) {
    if (!document.is_object() || !document["signatures"].is_object()
        || document["signatures"].empty() || mutator.below(50) == 0)
      document = Json::parse(graph_with(graph_nodes[mutator.below(std::size(graph_nodes))]));
    if (mutator.below(8) == 0) return mutator.change(document);
    auto signature = document["signatures"].begin();
    std::advance(signature, mutator.below(document["signatures"].size()));
    if (!signature->is_object()) return mutator.change(document);
    for (std::size_t i = 0, n = 1 + mutator.below(3); i < n; ++i)
      GraphMutator(mutator, *signature).change();
  });
  if (mutator.below(4) == 0) return changed;
  const auto right = with_right_types({reinterpret_cast<const char*>(data), changed});
  if (!right || right->size() > max_size) return changed;
  std::memcpy(data, right->data(), right->size());
  return right->size();
}

}  // namespace belfry
