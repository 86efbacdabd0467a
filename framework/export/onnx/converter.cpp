#include "belfry/framework/export/onnx/converter.h"

#include <algorithm>
#include <numeric>

#include "belfry/framework/tensor/array.h"

namespace belfry::onnx {

Converter::Converter(const saved::Signature& signature, std::map<int, Array> constants)
    : signature_(signature),
      constants_(std::move(constants)),
      readers_(signature.nodes.size()),
      used_(signature.nodes.size()) {
  for (std::size_t i = 0; i < signature.nodes.size(); ++i)
    used_[i].resize(signature.nodes[i].outputs.size());
  auto use = [&](Operand operand, int reader) {
    std::size_t node = operand.node;
    used_[node][operand.output] = true;
    readers_[node].push_back(reader);
  };
  for (std::size_t i = 0; i < signature.nodes.size(); ++i)
    for (const Operand& operand : signature.nodes[i].inputs) use(operand, i);
  for (const auto& [name, operand] : signature.outputs) use(operand, -1);
}

OnnxGraph Converter::convert(const std::string& name) {
  graph_.name = name;
  for (const saved::Node* input : signature_.inputs()) {
    const auto& key = std::get<std::string>(input->option("name"));
    graph_.inputs.emplace_back(key, input->outputs[0]);
    names_.insert(key);
  }
  for (const auto& [key, operand] : signature_.outputs)
    require(names_.insert(key).second, "onnx: `", key,
            "` is the name of an input and of a prediction, which ONNX cannot have; rename the "
            "prediction, or set ExportOptions::onnx to false");
  for (at_ = 0; at_ < std::ssize(signature_.nodes); ++at_)
    if (!constants_.contains(at_)) convert_node();
  for (const auto& [key, operand] : signature_.outputs) {
    at_ = operand.node;
    graph_.nodes.push_back({"Identity", fresh("Identity/" + key), {plain(operand)}, {key}, {}});
    graph_.outputs.emplace_back(key, signature_.type(operand));
  }
  return std::move(graph_);
}

void Converter::convert_node() {
  const saved::Node& node = this->node();
  if (folded_.contains(at_)) {
    const Operand& read = node.inputs[constant_input(0) ? 1 : 0];
    values_[{at_, 0}] = values_[{read.node, read.output}];
    return;
  }
  if (node.op == "input") {
    const auto& name = words("name");
    if (!saved::is_run_input(name)) give(name);
    return;  // what Belfry feeds while it runs is named by what reads it
  }
  Conversion conversion = find_conversion(node.op);
  if (!conversion) unsupported("there is no conversion of this op");
  conversion(*this);
}

void Converter::unsupported(const std::string& why) const {
  fail("onnx: ", node(), " cannot be expressed in ONNX: ", why,
       "; leave out the predictions that need it, or set ExportOptions::onnx to false");
}

const saved::Type& Converter::type(int input) const {
  return signature_.type(node().inputs[input]);
}

int Converter::rank_of(Operand operand) const { return signature_.type(operand).sizes.size(); }

bool Converter::is_used(int output) const { return used_[at_][output]; }

const Array* Converter::constant_of(Operand operand) const {
  auto found = constants_.find(operand.node);
  return found == constants_.end() || operand.output != 0 ? nullptr : &found->second;
}

const Array* Converter::constant_input(int i) const { return constant_of(node().inputs[i]); }

std::int64_t Converter::whole(std::string_view name) const {
  const auto& found = option<Extent>(name);
  if (found.follows_batch()) unsupported(concat("option `", name, "` follows the batch"));
  return found.fixed;
}

std::vector<std::int64_t> Converter::wholes(std::string_view name) const {
  std::vector<std::int64_t> found;
  for (const Extent& extent : extents(name)) {
    if (extent.follows_batch()) unsupported(concat("option `", name, "` follows the batch"));
    found.push_back(extent.fixed);
  }
  return found;
}

double Converter::number(std::string_view name) const {
  if (const auto* found = std::get_if<double>(&node().option(name))) return *found;
  return whole(name);
}

std::string Converter::fresh(const std::string& name) {
  std::string candidate = name;
  for (int i = 1; !names_.insert(candidate).second; ++i) candidate = concat(name, "_", i);
  return candidate;
}

std::string Converter::named(const std::string& word) {
  const std::string& scope = node().scope;
  return fresh(scope.empty() ? word : scope + "/" + word);
}

std::string Converter::add(const std::string& op, std::vector<std::string> inputs,
                           Attributes attributes) {
  return add_several(op, std::move(inputs), std::move(attributes), 1)[0];
}

std::vector<std::string> Converter::add_several(const std::string& op,
                                                std::vector<std::string> inputs,
                                                Attributes attributes, int count) {
  std::string name = named(op);
  std::vector<std::string> outputs;
  for (int i = 0; i < count; ++i) outputs.push_back(concat(name, ":", i));
  graph_.nodes.push_back({op, name, std::move(inputs), outputs, std::move(attributes)});
  return outputs;
}

std::string Converter::constant(const Array& value, const std::string& name) {
  std::string unique = name.find('/') == std::string::npos ? named(name) : fresh(name);
  graph_.initializers[unique] = value;
  return unique;
}

std::string Converter::scalar(double value, DType dtype) {
  auto [found, added] = scalars_.try_emplace({text(value), dtype}, "");
  if (added) found->second = constant(Array::scalar(value).cast(dtype), "scalar");
  return found->second;
}

std::string Converter::list(const std::vector<std::int64_t>& values) {
  return constant(Array::of(std::span<const std::int64_t>(values), {std::ssize(values)}), "list");
}

// The size of the first axis of an input that is `unit`, n or t alone.
std::string Converter::size_of_batch(const Extent& unit) {
  for (const auto& [name, type] : graph_.inputs)
    for (std::int64_t axis = 0; axis < std::ssize(type.sizes); ++axis)
      if (type.sizes[axis] == unit)
        return add("Shape", {name}, {{"start", axis}, {"end", axis + 1}});
  unsupported("it follows the batch, and no input has its rows or steps");
}

std::string Converter::sizes(const std::vector<Extent>& extents) {
  std::string sum;
  auto add_part = [&](std::int64_t Extent::*factor, auto unit) {
    std::vector<std::int64_t> factors;
    for (const Extent& extent : extents) factors.push_back(extent.*factor);
    if (std::ranges::all_of(factors, [](std::int64_t x) { return x == 0; })) return;
    std::string part = add("Mul", {unit(), list(factors)});
    sum = sum.empty() ? part : add("Add", {sum, part});
  };
  auto rows = [&] { return rows_.empty() ? rows_ = size_of_batch(saved::rows_of_batch) : rows_; };
  auto steps = [&] {
    return steps_.empty() ? steps_ = size_of_batch(saved::steps_of_batch) : steps_;
  };
  add_part(&Extent::per_row, rows);
  add_part(&Extent::per_step, steps);
  add_part(&Extent::per_row_and_step, [&] { return add("Mul", {rows(), steps()}); });
  std::vector<std::int64_t> fixed;
  for (const Extent& extent : extents) fixed.push_back(extent.fixed);
  return sum.empty() ? list(fixed) : add("Add", {sum, list(fixed)});
}

std::string Converter::numbers(const Extent& count) {
  if (count.follows_batch()) {
    std::string end = add("Squeeze", {sizes({count})});
    return add("Range", {scalar(0, DType::i64), end, scalar(1, DType::i64)});
  }
  Array out({count.fixed}, DType::i64);
  auto values = out.span<std::int64_t>();
  std::iota(values.begin(), values.end(), 0);
  return constant(out);
}

std::string Converter::new_input(const std::string& name) {
  std::string unique = named(name);
  graph_.inputs.emplace_back(unique, node().outputs[0]);
  return unique;
}

std::string Converter::transposed(const std::string& value,
                                  const std::vector<std::int64_t>& permutation) {
  return add("Transpose", {value}, {{"perm", permutation}});
}

// ---- values

void Converter::bind(Operand operand, const std::string& value, bool channels_first) {
  Value& bound = values_[{operand.node, operand.output}];
  (channels_first ? bound.channels_first : bound.plain) = value;
}

void Converter::give_channels_first(const std::string& value) { bind({at_, 0}, value, true); }

std::string Converter::weight(int node) {
  const saved::Node& of = signature_.nodes[node];
  std::string name = "constant";
  if (of.op == "variable") name = std::get<std::string>(of.option("name"));
  return constant(constants_.at(node), name);
}

std::string Converter::plain(Operand operand) {
  Value& value = values_[{operand.node, operand.output}];
  if (!value.plain && constant_of(operand)) value.plain = weight(operand.node);
  if (!value.plain) {
    if (!value.channels_first) unsupported("it reads what Belfry feeds while it runs");
    value.plain = transposed(*value.channels_first, to_channels_last(rank_of(operand)));
  }
  return *value.plain;
}

std::string Converter::first(Operand operand) {
  Value& value = values_[{operand.node, operand.output}];
  if (!value.channels_first) {
    auto permutation = to_channels_first(rank_of(operand));
    const Array* known = constant_of(operand);
    value.channels_first =
        known ? constant(permute(*known, permutation)) : transposed(plain(operand), permutation);
  }
  return *value.channels_first;
}

std::string Converter::channels_first(int i) { return first(node().inputs[i]); }

// Constants of fewer axes are given ones in front, as broadcasting does, before they are turned.
bool Converter::elementwise_channels_first(std::vector<std::string>& out) {
  int most = 0;
  bool wanted = false;
  for (const Operand& operand : node().inputs) {
    most = std::max(most, rank_of(operand));
    const Value& value = values_[{operand.node, operand.output}];
    wanted = wanted || (value.channels_first && !value.plain);
  }
  if (!wanted || most < 3) return false;
  for (const Operand& operand : node().inputs)
    if (rank_of(operand) != most && rank_of(operand) != 0 && !constant_of(operand)) return false;
  for (const Operand& operand : node().inputs) {
    if (rank_of(operand) == most || rank_of(operand) == 0) {
      out.push_back(rank_of(operand) == 0 ? plain(operand) : first(operand));
      continue;
    }
    const Array& known = *constant_of(operand);
    std::vector<std::int64_t> shape(most - known.shape().rank(), 1);
    shape.insert(shape.end(), known.shape().begin(), known.shape().end());
    out.push_back(constant(permute(known.reshape(Shape(shape)), to_channels_first(most))));
  }
  return true;
}

// ---- factors and terms behind a convolution or a product

// -1: there are several or none, or it is a result.
int Converter::only_reader(int node) const {
  const auto& readers = readers_[node];
  return readers.size() == 1 ? readers[0] : -1;
}

// The array that the node applies along the last axis of its operand `of`; null: nothing of the
// kind, or not the same to all elements of one of the channels.
const Array* Converter::affine_operand(int node, int of, std::int64_t channels) const {
  const saved::Node& reader = signature_.nodes[node];
  bool first = reader.inputs[0] == Operand{of, 0};
  if (reader.op != "mul" && reader.op != "add" && !(reader.op == "sub" && first)) return nullptr;
  const Array* other = constant_of(reader.inputs[first ? 1 : 0]);
  if (!other || other->dtype() != DType::f32 || other->shape().rank() != 1) return nullptr;
  std::int64_t size = other->shape()[0];
  const auto& sizes = signature_.type({of, 0}).sizes;
  bool along_last = !sizes.empty() && sizes.back() == Extent{size};
  return along_last && size > 0 && channels % size == 0 ? other : nullptr;
}

// Reshapes keep the order of the elements. So behind them, if the size of the last axis divides the
// number of channels, those of channel i are at i modulo that size.
Converter::Affine Converter::affine_behind(std::int64_t channels) const {
  std::size_t count = channels;
  Affine affine{std::vector<double>(count, 1), std::vector<double>(count, 0)};
  for (int at = at_, next = only_reader(at); next >= 0; at = next, next = only_reader(at)) {
    const std::string& op = signature_.nodes[next].op;
    if (op == "reshape") continue;
    const Array* values = affine_operand(next, at, channels);
    if (!values) break;
    for (std::size_t i = 0; i < count; ++i) {
      double value = values->at(static_cast<std::int64_t>(i) % values->shape()[0]);
      if (op == "mul") {
        affine.factor[i] *= value;
        affine.term[i] *= value;
      } else {
        affine.term[i] += op == "add" ? value : -value;
      }
    }
    (op == "mul" ? affine.has_factor : affine.has_term) = true;
    affine.nodes.insert(next);
  }
  return affine;
}

std::string Converter::bias(const Affine& affine) {
  Array terms({std::ssize(affine.term)}, DType::f32);
  std::transform(affine.term.begin(), affine.term.end(), terms.span<float>().begin(),
                 [](double x) { return static_cast<float>(x); });
  return constant(terms, "bias");
}

// ---- orders of axes

std::vector<std::int64_t> to_channels_first(int rank) {
  std::vector<std::int64_t> order{0, rank - 1};
  for (int axis = 1; axis < rank - 1; ++axis) order.push_back(axis);
  return order;
}

std::vector<std::int64_t> to_channels_last(int rank) {
  std::vector<std::int64_t> order{0};
  for (int axis = 2; axis < rank; ++axis) order.push_back(axis);
  order.push_back(1);
  return order;
}

}  // namespace belfry::onnx
