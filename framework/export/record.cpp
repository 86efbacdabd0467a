#include "belfry/framework/export/record.h"

#include <algorithm>
#include <charconv>

#include "belfry/framework/graph/leaves.h"
#include "belfry/framework/graph/rewrite.h"

namespace belfry::saved {
namespace {

using Nodes = std::vector<const belfry::Node*>;

// The nodes that matter, and the place of each among them by id.
struct Part {
  std::int64_t rows = 0;
  Nodes nodes;
  std::vector<int> node_numbers;

  explicit Part(const Instance& instance)
      : rows(instance.rows), node_numbers(instance.graph->size()) {
    std::vector<Tensor> outputs;
    for (const auto& [name, output] : instance.outputs) outputs.push_back(output);
    auto live = live_nodes(*instance.graph, outputs, {});
    for (const auto& node : *instance.graph) {
      std::size_t id = node->id();
      if (!live[id] && !node->is(input_op)) continue;
      node_numbers[id] = nodes.size();
      nodes.push_back(node.get());
    }
  }

  Operand operand(const Tensor& t) const { return {node_numbers[t.node().id()], t.index()}; }
};

// Records one node, of which it has the counterpart in every instance.
class Recorder {
 public:
  Recorder(std::span<const Part> parts, std::size_t index) : parts_(parts) {
    for (const Part& part : parts) nodes_.push_back(part.nodes[index]);
  }

  Node record() const {
    const belfry::Node& first = *nodes_[0];
    Node node{.op = std::string(first.op().name),
              .scope = first.scope(),
              .inputs = {},
              .options = {},
              .outputs = {}};
    for (const belfry::Node* other : nodes_)
      if (other->op().name != first.op().name || other->inputs().size() != first.inputs().size()
          || other->outputs().size() != first.outputs().size())
        differ(concat("is followed in its place by ", *other));
    node.inputs = inputs();
    for (std::size_t i = 0; i < first.outputs().size(); ++i) {
      std::vector<TensorType> types;
      for (const belfry::Node* other : nodes_) types.push_back(other->outputs()[i]);
      node.outputs.push_back(type(types, concat("output ", i)));
    }
    if (first.is(constant_op)) {
      node.value = constant(node.outputs[0]);
    } else {
      node.options = options();
    }
    return node;
  }

 private:
  [[noreturn]] void differ(const std::string& what) const {
    fail("export: ", *nodes_[0], " ", what, ": the model is built differently for ", parts_[0].rows,
         ", ", parts_[1].rows, " and ", parts_[2].rows,
         " rows, and not by numbers of the form a + b * rows; write the model so that nothing else "
         "depends on the batch's rows");
  }

  std::vector<Operand> inputs() const {
    std::vector<std::vector<Operand>> all;
    for (std::size_t i = 0; i < nodes_.size(); ++i) {
      all.emplace_back();
      for (const Tensor& t : nodes_[i]->inputs()) all.back().push_back(parts_[i].operand(t));
      if (all.back() != all[0]) differ("has other inputs");
    }
    return all[0];
  }

  Extent extent(const std::vector<std::int64_t>& values, const std::string& what) const {
    if (values[1] == values[0] && values[2] == values[0]) return {values[0], 0};
    // As unsigned numbers, whose overflow is defined; what does not fit fails the test below.
    auto number = [&](std::size_t i) { return static_cast<std::uint64_t>(values[i]); };
    std::int64_t step = number(1) - number(0);
    std::int64_t rows = parts_[1].rows - parts_[0].rows;
    Extent found{0, step / rows};
    found.fixed = number(0) - static_cast<std::uint64_t>(found.per_row) * parts_[0].rows;
    constexpr std::int64_t most = std::int64_t{1} << 40;
    bool small = std::abs(found.per_row) <= most && std::abs(found.fixed) <= most;
    for (std::size_t i = 0; i < values.size(); ++i)
      if (!small || found.at(parts_[i].rows) != values[i])
        differ(concat("has ", what, " ", join(values, ", ")));
    return found;
  }

  std::vector<Extent> extents(const std::vector<std::vector<std::int64_t>>& lists,
                              const std::string& what) const {
    std::vector<Extent> found;
    for (std::size_t i = 0; i < lists[0].size(); ++i) {
      std::vector<std::int64_t> values;
      for (const auto& list : lists) {
        if (list.size() != lists[0].size()) differ(concat("has ", what, " of other lengths"));
        values.push_back(list[i]);
      }
      found.push_back(extent(values, what));
    }
    return found;
  }

  Type type(const std::vector<TensorType>& types, const std::string& what) const {
    std::vector<std::vector<std::int64_t>> sizes;
    for (const TensorType& t : types) {
      if (t.dtype != types[0].dtype) differ(concat("has ", what, " of other types"));
      sizes.emplace_back(t.shape.begin(), t.shape.end());
    }
    return {extents(sizes, what), types[0].dtype};
  }

  Array constant(const Type& type) const {
    std::vector<Array> values;
    for (const belfry::Node* node : nodes_) values.push_back(node->as<ConstantOptions>().value);
    if (!type.follows_batch()) {
      for (const Array& value : values)
        if (!identical(value, values[0])) differ("has other values");
      return values[0];
    }
    Array first;
    for (const Array& value : values) {
      if (value.elements() == 0) differ("is empty");
      Array all = value.reshape({value.elements()});
      if (!first.defined()) first = all.row(0);
      for (std::int64_t i = 0; i < all.elements(); ++i)
        if (!identical(all.row(i), first))
          differ("has a size for the rows but other values in each");
    }
    return first.clone();
  }

  template <class T>
  std::vector<T> all_of(std::size_t index) const {
    std::vector<T> values;
    for (const belfry::Node* node : nodes_) {
      const NamedAttribute& attribute = node->options().attributes()[index];
      const T* value = std::get_if<T>(&attribute.value);
      if (!value) differ(concat("has `", attribute.name, "` of another type"));
      values.push_back(*value);
    }
    return values;
  }

  template <class T>
  T same(std::size_t index, const std::string& what) const {
    std::vector<T> values = all_of<T>(index);
    for (const T& value : values)
      if (value != values[0] && !(value != value && values[0] != values[0]))
        differ(concat("has other ", what));
    return values[0];
  }

  // Numbers in a text that differ are written as they follow the batch, so that types are:
  // "f32[2, 10]", "f32[3, 10]" and "f32[7, 10]" become "f32[n, 10]".
  std::string words(std::size_t index, const std::string& what) const {
    std::vector<std::string> values = all_of<std::string>(index);
    if (values[1] == values[0] && values[2] == values[0]) return values[0];
    std::vector<std::vector<std::int64_t>> numbers;
    for (std::string& value : values) numbers.push_back(take_numbers(value));
    for (const std::string& value : values)
      if (value != values[0]) differ(concat("has other ", what));
    std::string out;
    auto number = extents(numbers, what);
    auto next = number.begin();
    for (char c : values[0]) out += c == '\0' ? to_string(*next++) : std::string(1, c);
    return out;
  }

  // The numbers in a text, where a zero byte then stands for each.
  static std::vector<std::int64_t> take_numbers(std::string& text) {
    std::vector<std::int64_t> numbers;
    std::string rest;
    for (const char *at = text.data(), *end = at + text.size(); at < end;) {
      std::int64_t number = 0;
      auto [behind, error] = std::from_chars(at, end, number);
      if (error == std::errc() && *at != '-' && *at != '\0') {
        numbers.push_back(number);
        rest += '\0';
        at = behind;
      } else {
        rest += *at++;
      }
    }
    text = rest;
    return numbers;
  }

  Value value(std::size_t index) const {
    const NamedAttribute& first = nodes_[0]->options().attributes()[index];
    std::string what = concat("`", first.name, "`");
    if (std::holds_alternative<bool>(first.value)) return same<bool>(index, what);
    if (std::holds_alternative<double>(first.value)) return same<double>(index, what);
    if (std::holds_alternative<std::vector<double>>(first.value))
      return same<std::vector<double>>(index, what);
    if (std::holds_alternative<std::int64_t>(first.value))
      return extent(all_of<std::int64_t>(index), what);
    if (std::holds_alternative<std::vector<std::int64_t>>(first.value))
      return extents(all_of<std::vector<std::int64_t>>(index), what);
    if (std::holds_alternative<std::string>(first.value)) return words(index, what);
    fail("export: ", *nodes_[0], " has the option ", what,
         ", an array, which cannot be written; make it an input of the op");
  }

  std::vector<Option> options() const {
    const belfry::Node& first = *nodes_[0];
    if (first.is(input_op)) return named_type(first.as<InputOptions>().name);
    if (first.is(variable_op)) return named_type(first.as<VariableOptions>().name);
    std::vector<Option> found;
    for (std::size_t i = 0; i < first.options().attributes().size(); ++i)
      found.push_back({first.options().attributes()[i].name, value(i)});
    return found;
  }

  std::vector<Option> named_type(const std::string& name) const {
    std::vector<TensorType> types;
    for (const belfry::Node* node : nodes_) types.push_back(node->output());
    if (same<std::string>(0, "names") != name) differ("has other names");
    return {{"name", name}, {"type", to_string(type(types, "type"))}};
  }

  std::span<const Part> parts_;
  Nodes nodes_;
};

}  // namespace

Signature record(std::span<const Instance> instances) {
  ensure(instances.size() == 3, "record: ", instances.size(), " instances");
  std::vector<Part> parts;
  for (const Instance& instance : instances) parts.emplace_back(instance);
  Signature signature;
  std::size_t count = parts[0].nodes.size();
  for (const Part& part : parts) count = std::min(count, part.nodes.size());
  for (std::size_t i = 0; i < count; ++i) signature.nodes.push_back(Recorder(parts, i).record());
  for (const Part& part : parts)
    require(part.nodes.size() == parts[0].nodes.size(), "export: the model has ",
            parts[0].nodes.size(), " nodes for ", parts[0].rows, " rows but ", part.nodes.size(),
            " for ", part.rows, "; its structure may not depend on the number of rows");
  for (std::size_t i = 0; i < instances[0].outputs.size(); ++i) {
    const auto& [name, output] = instances[0].outputs[i];
    signature.outputs.emplace_back(name, parts[0].operand(output));
    for (std::size_t k = 1; k < parts.size(); ++k)
      require(instances[k].outputs.size() == instances[0].outputs.size()
                  && instances[k].outputs[i].first == name
                  && parts[k].operand(instances[k].outputs[i].second) == parts[0].operand(output),
              "export: prediction `", name, "` is another node for another number of rows");
  }
  return signature;
}

}  // namespace belfry::saved
