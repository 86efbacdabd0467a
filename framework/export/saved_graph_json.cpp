// graph.json:
//
//   {"format": "belfry graph", "version": 1, "step": 500, "seed": 7, "signatures": {"predict": {
//      "inputs": {"image": "f32[n, 28, 28, 1]"}, "outputs": {"digit": "i64[n]"}, (for readers)
//      "nodes": [
//        {"op": "input", "options": {"name": "image", "type": "f32[n, 28, 28, 1]"}},
//        {"op": "variable", "options": {"name": "fc/kernel", "type": "f32[784, 10]"}},
//        {"op": "reshape", "scope": "fc", "inputs": [[0, 0]], "types": ["f32[n, 784]"],
//         "options": {"shape": ["n", 784]}},
//        {"op": "constant", "types": ["f32[]"], "value": [0.5]}, ...],
//      "results": {"digit": [7, 0]},
//      "examples": {"image": {"feature": "image/raw", "stored": "bytes", "unit": 255.0}},
//      "preparation": {"name": "resize", "height": 28, ...}}}}
//
// An operand is [node, output]. Numbers that follow the rows n of the batch are texts; so are those
// that follow its steps t, at most "most_steps" of the signature. Constants of many elements have
// "tensor", the name of one in model.safetensors, in place of "value"; see Node::value. Those of
// elements that follow the steps have "elements", [0, "t"].

#include <algorithm>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

#include "belfry/framework/export/saved_graph.h"

namespace belfry::saved {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::string_view format = "belfry graph";
constexpr int newest_version = 2;         // 1: no free steps
constexpr std::int64_t most_inline = 16;  // elements of a constant that stand in the JSON

// ---- writing

Json to_json(double value) {
  if (std::isfinite(value)) return value;
  return std::isnan(value) ? "nan" : value > 0 ? "inf" : "-inf";
}

Json to_json(const Extent& extent) {
  if (!extent.follows_batch()) return extent.fixed;
  return to_string(extent);
}

Json to_json(const Value& value) {
  return std::visit(
      [](const auto& x) -> Json {
        using T = std::decay_t<decltype(x)>;
        if constexpr (std::is_same_v<T, std::vector<Extent>> || std::is_same_v<T, Numbers>) {
          Json list = Json::array();
          for (const auto& element : x) list.push_back(to_json(element));
          return list;
        } else if constexpr (std::is_same_v<T, Extent> || std::is_same_v<T, double>) {
          return to_json(x);
        } else {
          return x;
        }
      },
      value);
}

bool stands_inline(const Array& value) {
  if (value.elements() > most_inline) return false;
  for (std::int64_t i = 0; i < value.elements(); ++i)
    if (std::isnan(value.at(i))) return false;  // there are many that differ in their bits
  return true;
}

Json elements(const Array& value) {
  Json list = Json::array();
  if (value.dtype() == DType::i64) {
    for (std::int64_t element : value.span<std::int64_t>()) list.push_back(element);
  } else {
    for (std::int64_t i = 0; i < value.elements(); ++i) list.push_back(to_json(value.at(i)));
  }
  return list;
}

// One name for equal constants.
std::string add_weight(const Array& value, NamedArrays& weights) {
  for (int number = 0;; ++number) {
    std::string name = concat("constants/", number);
    auto [at, added] = weights.emplace(name, value);
    if (added || identical(at->second, value)) return name;
  }
}

Json to_json(const Operand& operand) { return Json::array({operand.node, operand.output}); }

Json to_json(const Node& node, NamedArrays& weights) {
  Json out{{"op", node.op}};
  if (!node.scope.empty()) out["scope"] = node.scope;
  for (const Operand& input : node.inputs) out["inputs"].push_back(to_json(input));
  for (const Type& type : node.outputs) out["types"].push_back(to_string(type));
  for (const Option& option : node.options) out["options"][option.name] = to_json(option.value);
  for (const Extent& element : node.elements) out["elements"].push_back(to_json(element));
  if (!node.value.defined()) return out;
  if (stands_inline(node.value) && !node.is_longest()) {
    out["value"] = elements(node.value);
  } else {
    out["tensor"] = add_weight(node.value, weights);
  }
  return out;
}

Json to_json(const ExampleInput& input) {
  Json out = Json::object();
  if (!input.feature.empty()) out["feature"] = input.feature;
  if (input.stored) out["stored"] = to_string(*input.stored);
  out["unit"] = input.unit;
  if (input.default_value) out["default"] = to_json(*input.default_value);
  return out;
}

Json to_json(const Signature& signature, NamedArrays& weights) {
  Json out{{"inputs", Json::object()},
           {"outputs", Json::object()},
           {"nodes", Json::array()},
           {"results", Json::object()}};
  for (const Node* input : signature.inputs())
    out["inputs"][std::get<std::string>(input->option("name"))] = to_string(input->outputs[0]);
  for (const Node& node : signature.nodes) out["nodes"].push_back(to_json(node, weights));
  for (const auto& [name, output] : signature.outputs) {
    out["outputs"][name] = to_string(signature.type(output));
    out["results"][name] = to_json(output);
  }
  if (signature.most_steps > 0) out["most_steps"] = signature.most_steps;
  for (const auto& [name, input] : signature.examples) out["examples"][name] = to_json(input);
  if (!signature.preparation.empty()) out["preparation"] = Json::parse(signature.preparation);
  return out;
}

// ---- reading

const Json& field(const Json& object, const char* name, bool (Json::*is)() const noexcept,
                  const char* what) {
  require(object.is_object(), "expected an object");
  auto found = object.find(name);
  require(found != object.end(), "`", name, "` is missing");
  require(((*found).*is)(), "`", name, "` must be ", what);
  return *found;
}

const Json* optional(const Json& object, const char* name, bool (Json::*is)() const noexcept,
                     const char* what) {
  return object.is_object() && object.contains(name) ? &field(object, name, is, what) : nullptr;
}

double number(const Json& json) {
  if (json.is_number()) return json.get<double>();
  require(json.is_string(), "expected a number");
  const auto& word = json.get_ref<const std::string&>();
  if (word == "inf") return std::numeric_limits<double>::infinity();
  if (word == "-inf") return -std::numeric_limits<double>::infinity();
  require(word == "nan", "`", word, "` is no number");
  return std::numeric_limits<double>::quiet_NaN();
}

std::int64_t whole(const Json& json) {
  bool fits = json.is_number_integer()
              && !(json.is_number_unsigned()
                   && json.get<std::uint64_t>() > std::numeric_limits<std::int64_t>::max());
  require(fits, "expected a whole number of 64 bits");
  return json.get<std::int64_t>();
}

Extent extent(const Json& json) {
  if (json.is_string()) return extent_from_string(json.get_ref<const std::string&>());
  return {whole(json)};
}

bool is_double(const Json& json) {
  if (!json.is_string()) return json.is_number_float();
  const auto& word = json.get_ref<const std::string&>();
  return word == "inf" || word == "-inf" || word == "nan";
}

Value option_value(const Json& json) {
  if (json.is_boolean()) return json.get<bool>();
  if (is_double(json)) return number(json);
  if (json.is_string()) return json.get<std::string>();
  if (!json.is_array()) return extent(json);
  if (std::any_of(json.begin(), json.end(), is_double)) {
    std::vector<double> numbers;
    for (const Json& element : json) numbers.push_back(number(element));
    return numbers;
  }
  std::vector<Extent> extents;
  for (const Json& element : json) extents.push_back(extent(element));
  return extents;
}

Operand operand(const Json& json) {
  require(json.is_array() && json.size() == 2, "an operand is [node, output]");
  auto index = [](const Json& part) {
    std::int64_t value = whole(part);
    require(value >= 0 && value <= std::numeric_limits<int>::max(), value, " is no index");
    return static_cast<int>(value);
  };
  return {index(json[0]), index(json[1])};
}

Array inline_constant(const Json& list, const TensorType& type) {
  require(std::ssize(list) == type.shape.elements(), "`value` has ", list.size(),
          " elements but the type is ", type);
  if (type.dtype == DType::i64) {
    std::vector<std::int64_t> values;
    for (const Json& element : list) values.push_back(whole(element));
    return Array::of(std::span<const std::int64_t>(values), type.shape);
  }
  std::vector<double> values;
  for (const Json& element : list) values.push_back(number(element));
  return Array::of(std::span<const double>(values), type.shape).cast(type.dtype);
}

// Whether a constant of `type` may have this value: see Node::value.
bool may_be_value(const TensorType& value, const Type& type, std::int64_t most_steps) {
  if (value.dtype != type.dtype) return false;
  if (type.follows_batch() && value.shape.rank() == 0) return true;
  bool good = value.shape.rank() == std::ssize(type.sizes);
  for (int axis = 0; good && axis < value.shape.rank(); ++axis)
    good = type.sizes[axis] == Extent{value.shape[axis]}
           || (type.sizes[axis] == steps_of_batch && value.shape[axis] == most_steps);
  return good;
}

Array constant(const Json& json, const Type& type, const NamedArrays& weights,
               std::int64_t most_steps) {
  TensorType wanted{{}, type.dtype};
  if (!type.follows_batch()) wanted = type.at({});
  if (const Json* list = optional(json, "value", &Json::is_array, "a list"))
    return inline_constant(*list, wanted);
  auto name = field(json, "tensor", &Json::is_string, "a name").get<std::string>();
  auto found = weights.find(name);
  require(found != weights.end(), "there is no tensor `", name, "` in the weights");
  require(may_be_value(found->second.type(), type, most_steps), "tensor `", name, "` is ",
          found->second.type(), " but the graph wants ", type,
          most_steps > 0 ? concat(" for ", most_steps, " steps") : "");
  return found->second;
}

Node node_from(const Json& json, const NamedArrays& weights, std::int64_t most_steps) {
  Node node{.op = field(json, "op", &Json::is_string, "a text").get<std::string>(),
            .scope = {},
            .inputs = {},
            .options = {},
            .outputs = {}};
  if (const Json* scope = optional(json, "scope", &Json::is_string, "a text"))
    node.scope = scope->get<std::string>();
  return with_context(to_string(node), [&] {
    if (const Json* inputs = optional(json, "inputs", &Json::is_array, "a list"))
      for (const Json& input : *inputs) node.inputs.push_back(operand(input));
    for (const Json& type : field(json, "types", &Json::is_array, "a list")) {
      require(type.is_string(), "a type is a text like f32[n, 10]");
      node.outputs.push_back(type_from_string(type.get_ref<const std::string&>()));
    }
    if (const Json* options = optional(json, "options", &Json::is_object, "an object"))
      for (const auto& [name, value] : options->items())
        with_context(concat("option ", name), [&, &name = name, &value = value] {
          node.options.push_back({name, option_value(value)});
        });
    bool leaf = node.op == "constant" || node.op == "input" || node.op == "variable";
    require(!leaf || node.outputs.size() == 1, "has ", node.outputs.size(), " types; expected one");
    if (node.op == "constant") {
      if (const Json* elements = optional(json, "elements", &Json::is_array, "a list")) {
        require(!json.contains("value") && !json.contains("tensor"),
                "a constant has one of `value`, `tensor` and `elements`");
        for (const Json& element : *elements) node.elements.push_back(extent(element));
      } else {
        node.value = constant(json, node.outputs[0], weights, most_steps);
      }
    }
    return node;
  });
}

StoredAs stored_as(const std::string& name) {
  StoredAs stored{};
  if (!from_name(name, stored))
    fail("features are not stored as `", name, "`; there are ", join(enum_names<StoredAs>, ", "));
  return stored;
}

ExampleInput example_input(const Json& json) {
  require(json.is_object(), "expected an object");
  ExampleInput input;
  if (const Json* feature = optional(json, "feature", &Json::is_string, "a text"))
    input.feature = feature->get<std::string>();
  if (const Json* stored = optional(json, "stored", &Json::is_string, "a text"))
    input.stored = stored_as(stored->get<std::string>());
  input.unit = number(field(json, "unit", &Json::is_number, "a number"));
  if (json.contains("default")) input.default_value = number(json["default"]);
  return input;
}

Signature signature_from(const Json& json, const NamedArrays& weights) {
  Signature signature;
  if (const Json* most = optional(json, "most_steps", &Json::is_number_integer, "a number"))
    signature.most_steps = whole(*most);
  constexpr std::int64_t most = std::int64_t{1} << 40;
  require(signature.most_steps >= 0 && signature.most_steps <= most, "`most_steps` is ",
          signature.most_steps, "; expected 0 to 2^40");
  for (const Json& node : field(json, "nodes", &Json::is_array, "a list"))
    with_context(concat("node ", signature.nodes.size()), [&] {
      signature.nodes.push_back(node_from(node, weights, signature.most_steps));
    });
  for (const auto& [name, output] : field(json, "results", &Json::is_object, "an object").items()) {
    Operand at =
        with_context(concat("result ", name), [&output = output] { return operand(output); });
    require(static_cast<std::size_t>(at.node) < signature.nodes.size()
                && static_cast<std::size_t>(at.output) < signature.nodes[at.node].outputs.size(),
            "result `", name, "` is [", at.node, ", ", at.output, "], which is not there");
    signature.outputs.emplace_back(name, at);
  }
  require(!signature.outputs.empty(), "there are no results");
  if (const Json* examples = optional(json, "examples", &Json::is_object, "an object"))
    for (const auto& [name, input] : examples->items())
      signature.examples[name] = with_context(concat("examples, ", name),
                                              [&input = input] { return example_input(input); });
  if (const Json* preparation = optional(json, "preparation", &Json::is_object, "an object"))
    signature.preparation = preparation->dump();
  return signature;
}

Model model_from(const Json& json, const NamedArrays& weights) {
  auto name = field(json, "format", &Json::is_string, "a text").get<std::string>();
  require(name == format, "the format is `", name, "`, not `", format, "`");
  std::int64_t number = whole(field(json, "version", &Json::is_number_integer, "a number"));
  require(number >= 1 && number <= newest_version, "version ", number,
          " of the format; this program reads versions 1 to ", newest_version,
          number > newest_version ? "; a newer Belfry wrote it: update to read it" : "");
  Model model;
  model.step = whole(field(json, "step", &Json::is_number_integer, "a number"));
  model.seed =
      field(json, "seed", &Json::is_number_unsigned, "a number from 0 on").get<std::uint64_t>();
  for (const auto& [key, value] : field(json, "signatures", &Json::is_object, "an object").items())
    model.signatures[key] = with_context(
        concat("signature ", key), [&, &value = value] { return signature_from(value, weights); });
  require(!model.signatures.empty(), "there are no signatures");
  return model;
}

}  // namespace

std::string to_json(const Model& model, NamedArrays& weights) {
  bool has_steps = std::ranges::any_of(
      model.signatures, [](const auto& named) { return named.second.most_steps > 0; });
  Json out{{"format", format},
           {"version", has_steps ? newest_version : 1},
           {"step", model.step},
           {"seed", model.seed},
           {"signatures", Json::object()}};
  for (const auto& [name, signature] : model.signatures)
    out["signatures"][name] = to_json(signature, weights);
  return out.dump(1) + "\n";
}

Model model_from_json(std::string_view json, const NamedArrays& weights) {
  // A file may nest values as deep as it likes; what copies and writes them is recursive.
  constexpr int most = 100;
  auto bounded = [=](int depth, Json::parse_event_t, const Json&) {
    require(depth <= most, "values are nested more than ", most, " deep");
    return true;
  };
  try {
    return model_from(Json::parse(json, bounded), weights);
  } catch (const Json::exception& error) {
    fail("no valid JSON: ", error.what());
  }
}

}  // namespace belfry::saved
