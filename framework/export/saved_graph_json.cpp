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

#include "belfry/framework/base/json.h"
#include "belfry/framework/export/saved_graph.h"

namespace belfry::saved {
namespace {

constexpr std::string_view format = "belfry graph";
constexpr int newest_version = 2;         // 1: no free steps
constexpr std::int64_t most_inline = 16;  // elements of a constant that stand in the JSON

// ---- writing

JsonNode to_json(double value) {
  if (std::isfinite(value)) return value;
  return std::isnan(value) ? "nan" : value > 0 ? "inf" : "-inf";
}

JsonNode to_json(const Extent& extent) {
  if (!extent.follows_batch()) return extent.fixed;
  return to_string(extent);
}

JsonNode to_json(const Operand& operand) { return JsonNode::list({operand.node, operand.output}); }

JsonNode to_json(const Type& type) { return to_string(type); }

template <class List>
JsonNode list_of(const List& values) {
  JsonNode list = JsonNode::list();
  for (const auto& value : values) list.push(to_json(value));
  return list;
}

JsonNode to_json(const Value& value) {
  return std::visit(
      [](const auto& x) -> JsonNode {
        using T = std::decay_t<decltype(x)>;
        if constexpr (std::is_same_v<T, std::vector<Extent>> || std::is_same_v<T, Numbers>) {
          return list_of(x);
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

JsonNode elements(const Array& value) {
  JsonNode list = JsonNode::list();
  if (value.dtype() == DType::i64) {
    for (std::int64_t element : value.span<std::int64_t>()) list.push(element);
  } else {
    for (std::int64_t i = 0; i < value.elements(); ++i) list.push(to_json(value.at(i)));
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

JsonNode to_json(const Node& node, NamedArrays& weights) {
  JsonNode out = JsonNode::object({{"op", node.op}});
  if (!node.scope.empty()) out.add("scope", node.scope);
  if (!node.inputs.empty()) out.add("inputs", list_of(node.inputs));
  if (!node.outputs.empty()) out.add("types", list_of(node.outputs));
  JsonNode options = JsonNode::object();
  for (const Option& option : node.options) options.add(option.name, to_json(option.value));
  if (!node.options.empty()) out.add("options", std::move(options));
  if (!node.elements.empty()) out.add("elements", list_of(node.elements));
  if (!node.value.defined()) return out;
  if (stands_inline(node.value) && !node.is_longest()) {
    out.add("value", elements(node.value));
  } else {
    out.add("tensor", add_weight(node.value, weights));
  }
  return out;
}

JsonNode to_json(const ExampleInput& input) {
  JsonNode out = JsonNode::object();
  if (!input.feature.empty()) out.add("feature", input.feature);
  if (input.stored) out.add("stored", to_string(*input.stored));
  out.add("unit", input.unit);
  if (input.default_value) out.add("default", to_json(*input.default_value));
  return out;
}

JsonNode to_json(const Signature& signature, NamedArrays& weights) {
  JsonNode inputs = JsonNode::object(), outputs = inputs, results = inputs, examples = inputs;
  JsonNode nodes = JsonNode::list();
  for (const Node* input : signature.inputs())
    inputs.add(std::get<std::string>(input->option("name")), to_json(input->outputs[0]));
  for (const Node& node : signature.nodes) nodes.push(to_json(node, weights));
  for (const auto& [name, output] : signature.outputs) {
    outputs.add(name, to_json(signature.type(output)));
    results.add(name, to_json(output));
  }
  for (const auto& [name, input] : signature.examples) examples.add(name, to_json(input));
  JsonNode out = JsonNode::object({{"inputs", std::move(inputs)},
                                   {"outputs", std::move(outputs)},
                                   {"nodes", std::move(nodes)},
                                   {"results", std::move(results)}});
  if (signature.most_steps > 0) out.add("most_steps", signature.most_steps);
  if (!signature.examples.empty()) out.add("examples", std::move(examples));
  if (!signature.preparation.empty())
    out.add("preparation", *parse_json(signature.preparation, "preparation", deepest_json));
  return out;
}

// ---- reading

// The elements of a member, which may be missing.
std::vector<JsonValue> optional_list(const JsonValue& object, std::string_view name) {
  std::optional<JsonValue> list = object.member(name);
  return list ? list->elements() : std::vector<JsonValue>{};
}

double number(const JsonValue& json) {
  if (!json.is_text()) return json.number();
  const std::string& word = json.words();
  if (word == "inf") return std::numeric_limits<double>::infinity();
  if (word == "-inf") return -std::numeric_limits<double>::infinity();
  if (word != "nan") json.refuse("a number, inf, -inf or nan");
  return std::numeric_limits<double>::quiet_NaN();
}

Extent extent(const JsonValue& json) {
  if (json.is_text()) return extent_from_string(json.words());
  return {json.whole()};
}

bool is_double(const JsonValue& json) {
  if (!json.is_text()) return json.is_fraction();
  const std::string& word = json.words();
  return word == "inf" || word == "-inf" || word == "nan";
}

Value option_value(const JsonValue& json) {
  if (json.is_truth()) return json.truth();
  if (is_double(json)) return number(json);
  if (json.is_text()) return json.words();
  if (!json.is_list()) return extent(json);
  std::vector<JsonValue> elements = json.elements();
  if (std::ranges::any_of(elements, is_double)) {
    std::vector<double> numbers;
    for (const JsonValue& element : elements) numbers.push_back(number(element));
    return numbers;
  }
  std::vector<Extent> extents;
  for (const JsonValue& element : elements) extents.push_back(extent(element));
  return extents;
}

Operand operand(const JsonValue& json) {
  std::vector<JsonValue> parts = json.elements();
  if (parts.size() != 2) json.refuse("[node, output]");
  auto index = [](const JsonValue& part) {
    std::int64_t value = part.whole();
    require(value >= 0 && value <= std::numeric_limits<int>::max(), value, " is no index");
    return static_cast<int>(value);
  };
  return {index(parts[0]), index(parts[1])};
}

Array inline_constant(const std::vector<JsonValue>& list, const TensorType& type) {
  require(std::ssize(list) == type.shape.elements(), "`value` has ", list.size(),
          " elements but the type is ", type);
  if (type.dtype == DType::i64) {
    std::vector<std::int64_t> values;
    for (const JsonValue& element : list) values.push_back(element.whole());
    return Array::of(std::span<const std::int64_t>(values), type.shape);
  }
  std::vector<double> values;
  for (const JsonValue& element : list) values.push_back(number(element));
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

Array constant(const JsonValue& json, const Type& type, const NamedArrays& weights,
               std::int64_t most_steps) {
  TensorType wanted{{}, type.dtype};
  if (!type.follows_batch()) wanted = type.at({});
  if (auto list = json.member("value")) return inline_constant(list->elements(), wanted);
  std::string name = json.required("tensor").words();
  auto found = weights.find(name);
  require(found != weights.end(), "there is no tensor `", name, "` in the weights");
  require(may_be_value(found->second.type(), type, most_steps), "tensor `", name, "` is ",
          found->second.type(), " but the graph wants ", type,
          most_steps > 0 ? concat(" for ", most_steps, " steps") : "");
  return found->second;
}

Node node_from(const JsonValue& json, const NamedArrays& weights, std::int64_t most_steps) {
  Node node{
      .op = json.required("op").words(), .scope = {}, .inputs = {}, .options = {}, .outputs = {}};
  if (auto scope = json.member("scope")) node.scope = scope->words();
  return with_context(to_string(node), [&] {
    for (const JsonValue& input : optional_list(json, "inputs"))
      node.inputs.push_back(operand(input));
    for (const JsonValue& type : json.required("types").elements()) {
      if (!type.is_text()) type.refuse("a string like f32[n, 10]");
      node.outputs.push_back(type_from_string(type.words()));
    }
    if (auto options = json.member("options"))
      for (const auto& [name, value] : options->members())
        with_context(concat("option ", name), [&, &name = name, &value = value] {
          node.options.push_back({name, option_value(value)});
        });
    bool leaf = node.op == "constant" || node.op == "input" || node.op == "variable";
    require(!leaf || node.outputs.size() == 1, "has ", node.outputs.size(), " types; expected one");
    if (node.op == "constant") {
      if (auto elements = json.member("elements")) {
        require(!json.member("value") && !json.member("tensor"),
                "a constant has one of `value`, `tensor` and `elements`");
        for (const JsonValue& element : elements->elements())
          node.elements.push_back(extent(element));
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

ExampleInput example_input(const JsonValue& json) {
  ExampleInput input;
  input.unit = json.required("unit").number();
  if (auto feature = json.member("feature")) input.feature = feature->words();
  if (auto stored = json.member("stored")) input.stored = stored_as(stored->words());
  if (auto value = json.member("default")) input.default_value = number(*value);
  return input;
}

Signature signature_from(const JsonValue& json, const NamedArrays& weights) {
  Signature signature;
  if (auto most = json.member("most_steps")) signature.most_steps = most->whole();
  constexpr std::int64_t most = std::int64_t{1} << 40;
  require(signature.most_steps >= 0 && signature.most_steps <= most, "`most_steps` is ",
          signature.most_steps, "; expected 0 to 2^40");
  for (const JsonValue& node : json.required("nodes").elements())
    with_context(concat("node ", signature.nodes.size()), [&] {
      signature.nodes.push_back(node_from(node.titled(""), weights, signature.most_steps));
    });
  for (const auto& [name, output] : json.required("results").members()) {
    Operand at = with_context(concat("result ", name),
                              [&output = output] { return operand(output.titled("")); });
    require(static_cast<std::size_t>(at.node) < signature.nodes.size()
                && static_cast<std::size_t>(at.output) < signature.nodes[at.node].outputs.size(),
            "result `", name, "` is [", at.node, ", ", at.output, "], which is not there");
    signature.outputs.emplace_back(name, at);
  }
  require(!signature.outputs.empty(), "there are no results");
  if (auto examples = json.member("examples"))
    for (const auto& [name, input] : examples->members())
      signature.examples[name] = with_context(
          concat("examples, ", name), [&input = input] { return example_input(input.titled("")); });
  if (auto preparation = json.member("preparation")) {
    if (!preparation->is_object()) preparation->refuse("an object");
    signature.preparation = preparation->json();
  }
  return signature;
}

Model model_from(const JsonValue& json, const NamedArrays& weights) {
  std::string name = json.required("format").words();
  require(name == format, "the format is `", name, "`, not `", format, "`");
  std::int64_t number = json.required("version").whole();
  require(number >= 1 && number <= newest_version, "version ", number,
          " of the format; this program reads versions 1 to ", newest_version,
          number > newest_version ? "; a newer Belfry wrote it: update to read it" : "");
  Model model;
  model.step = json.required("step").whole();
  model.seed = json.required("seed").natural();
  for (const auto& [key, value] : json.required("signatures").members())
    model.signatures[key] = with_context(concat("signature ", key), [&, &value = value] {
      return signature_from(value.titled(""), weights);
    });
  require(!model.signatures.empty(), "there are no signatures");
  return model;
}

}  // namespace

std::string to_json(const Model& model, NamedArrays& weights) {
  bool has_steps = std::ranges::any_of(
      model.signatures, [](const auto& named) { return named.second.most_steps > 0; });
  JsonNode signatures = JsonNode::object();
  for (const auto& [name, signature] : model.signatures)
    signatures.add(name, to_json(signature, weights));
  return JsonNode::object({{"format", format},
                           {"version", has_steps ? newest_version : 1},
                           {"step", model.step},
                           {"seed", model.seed},
                           {"signatures", std::move(signatures)}})
             .indented_text()
         + "\n";
}

Model model_from_json(std::string_view json, const NamedArrays& weights) {
  return model_from(JsonValue::parse(json, "", deepest_json), weights);
}

}  // namespace belfry::saved
