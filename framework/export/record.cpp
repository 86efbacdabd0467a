#include "belfry/framework/export/record.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <optional>

#include "belfry/framework/graph/leaves.h"
#include "belfry/framework/graph/rewrite.h"

namespace belfry::saved {
namespace {

using Nodes = std::vector<const belfry::Node*>;

// The nodes that matter, and the place of each among them by id.
struct Part {
  BatchSize batch;
  Nodes nodes;
  std::vector<int> node_numbers;

  explicit Part(const Instance& instance)
      : batch(instance.batch), node_numbers(instance.graph->size()) {
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
      record_constant(node);
    } else {
      node.options = options();
    }
    return node;
  }

 private:
  [[noreturn]] void differ(const std::string& what) const {
    std::string_view sizes = "2, 3 and 7 rows, and not by numbers of the form a + b * rows";
    std::string_view of = "rows";
    if (has_steps()) {
      sizes =
          "other numbers of rows and steps, and not by numbers of the form a + b * rows + "
          "c * steps + d * rows * steps";
      of = "rows and steps";
    }
    fail("export: ", *nodes_[0], " ", what, ": the model is built differently for ", sizes,
         "; write the model so that nothing else depends on the batch's ", of);
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

  bool has_steps() const { return parts_[0].batch.steps > 0; }

  // The first five sizes are (2, t), (3, t), (7, t), (2, t - 1), (3, t - 1): so nothing is divided.
  Extent extent(const std::vector<std::int64_t>& values, const std::string& what) const {
    auto is_first = [&](std::int64_t value) { return value == values[0]; };
    if (std::all_of(values.begin(), values.end(), is_first)) return {values[0]};
    // As unsigned numbers, whose overflow is defined; what does not fit fails the test below.
    auto number = [&](std::size_t i) { return static_cast<std::uint64_t>(values[i]); };
    std::uint64_t rows = parts_[0].batch.rows, steps = parts_[0].batch.steps;
    std::uint64_t row = number(1) - number(0), step = 0, both = 0;  // more for one more
    if (has_steps()) {
      step = number(0) - number(3);
      both = row - (number(4) - number(3));
    }
    row -= both * steps, step -= both * rows;
    Extent found{0, std::int64_t(row), std::int64_t(step), std::int64_t(both)};
    found.fixed = number(0) - row * rows - step * steps - both * rows * steps;
    constexpr std::int64_t most = std::int64_t{1} << 40;
    for (std::int64_t part : {found.fixed, found.per_row, found.per_step, found.per_row_and_step})
      if (part > most || part < -most) differ(concat("has ", what, " ", join(values, ", ")));
    for (std::size_t i = 0; i < values.size(); ++i)
      if (found.at(parts_[i].batch) != values[i])
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

  void record_constant(Node& node) const {
    std::vector<Array> values;
    for (const belfry::Node* each : nodes_) values.push_back(each->as<ConstantOptions>().value);
    const Type& type = node.outputs[0];
    auto is_first = [&](const Array& value) { return identical(value, values[0]); };
    bool equal = !type.follows_batch() && std::all_of(values.begin(), values.end(), is_first);
    if (equal) {
      node.value = values[0];
    } else if (!type.follows_batch()) {
      node.elements = elements(values);
    } else if (std::optional<Array> element = only_element(values)) {
      node.value = *element;
    } else if (has_steps() && begin_alike(type, values)) {
      node.value = values[0];
    } else {
      differ("has a size that follows the batch, but other values in each place");
    }
  }

  // A count of steps, as limits of lengths are. What follows the rows is no constant of a model
  // whose rows are apart.
  std::vector<Extent> elements(const std::vector<Array>& values) const {
    constexpr std::int64_t most = 16;
    std::vector<Extent> found;
    if (values[0].elements() > most) differ("has other values");
    for (std::int64_t i = 0; i < values[0].elements(); ++i) {
      std::vector<std::int64_t> numbers;
      for (const Array& value : values) {
        double number = value.at(i);
        bool whole = std::abs(number) < 0x1p52 && number == std::floor(number)
                     && (number != 0 || !std::signbit(number));
        if (!whole) differ("has other values");
        numbers.push_back(static_cast<std::int64_t>(number));
      }
      found.push_back(extent(numbers, "other values"));
      if (found.back().per_row != 0 || found.back().per_row_and_step != 0)
        differ("has other values");
    }
    return found;
  }

  // The one that all elements of all values equal; none: they do not.
  std::optional<Array> only_element(const std::vector<Array>& values) const {
    Array first;
    for (const Array& value : values) {
      if (value.elements() == 0) differ("is empty");
      Array all = value.reshape({value.elements()});
      if (!first.defined()) first = all.row(0);
      for (std::int64_t i = 0; i < all.elements(); ++i)
        if (!identical(all.row(i), first)) return std::nullopt;
    }
    return first.clone();
  }

  // Whether each of the values is where the first one begins, along all axes that follow the steps.
  static bool begin_alike(const Type& type, const std::vector<Array>& values) {
    for (const Extent& size : type.sizes)
      if (size.follows_batch() && size != steps_of_batch) return false;
    return std::all_of(values.begin(), values.end(), [&](const Array& value) {
      return identical(beginning(values[0], value.shape()), value);
    });
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
    auto is_first = [&](const std::string& value) { return value == values[0]; };
    if (std::all_of(values.begin(), values.end(), is_first)) return values[0];
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
    Type all = type(types, "type");
    require(!nodes_[0]->is(variable_op) || !all.follows_batch(), "export: the variable `", name,
            "` is ", all,
            ": weights cannot follow the batch; take a mean over the steps before the "
            "layer, or leave ExportSignature::free_steps empty");
    return {{"name", name}, {"type", to_string(all)}};
  }

  std::span<const Part> parts_;
  Nodes nodes_;
};

std::string describe(const BatchSize& size) {
  std::string rows = concat(size.rows, " rows");
  return size.steps == 0 ? rows : concat(rows, " and ", size.steps, " steps");
}

}  // namespace

std::vector<BatchSize> sizes_to_record(std::int64_t most_steps) {
  // Not 1, which broadcasts; and rows not in one line with 2 for any of the functions that one
  // meets.
  std::vector<BatchSize> sizes{{2, most_steps}, {3, most_steps}, {7, most_steps}};
  if (most_steps == 0) return sizes;
  require(most_steps >= 4, "export: free steps, at most ", most_steps,
          "; expected at least 4, which is what they are learnt from");
  // A small one, as an if or a minimum of the steps may show there alone.
  for (BatchSize more :
       {BatchSize{2, most_steps - 1}, {3, most_steps - 1}, {2, most_steps / 2}, {7, 2}})
    sizes.push_back(more);
  return sizes;
}

Signature record(std::span<const Instance> instances) {
  std::int64_t most_steps = instances[0].batch.steps;
  auto sizes = sizes_to_record(most_steps);
  ensure(std::ranges::equal(instances, sizes, {}, &Instance::batch), "record: other instances");
  std::vector<Part> parts;
  for (const Instance& instance : instances) parts.emplace_back(instance);
  Signature signature;
  signature.most_steps = most_steps;
  std::size_t count = parts[0].nodes.size();
  for (const Part& part : parts) count = std::min(count, part.nodes.size());
  for (std::size_t i = 0; i < count; ++i) signature.nodes.push_back(Recorder(parts, i).record());
  for (const Part& part : parts)
    require(part.nodes.size() == parts[0].nodes.size(), "export: the model has ",
            parts[0].nodes.size(), " nodes for ", describe(parts[0].batch), " but ",
            part.nodes.size(), " for ", describe(part.batch),
            "; its structure may not depend on the size of the batch");
  for (std::size_t i = 0; i < instances[0].outputs.size(); ++i) {
    const auto& [name, output] = instances[0].outputs[i];
    signature.outputs.emplace_back(name, parts[0].operand(output));
    for (std::size_t k = 1; k < parts.size(); ++k)
      require(instances[k].outputs.size() == instances[0].outputs.size()
                  && instances[k].outputs[i].first == name
                  && parts[k].operand(instances[k].outputs[i].second) == parts[0].operand(output),
              "export: prediction `", name, "` is another node for a batch of another size");
  }
  return signature;
}

}  // namespace belfry::saved
