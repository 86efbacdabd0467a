#include "belfry/framework/export/instantiate.h"

#include <algorithm>
#include <map>
#include <set>

#include "belfry/framework/export/op_table.h"
#include "belfry/framework/graph/leaves.h"

namespace belfry::saved {
namespace {

constexpr std::int64_t most_elements = std::int64_t{1} << 48;  // bytes are counted in 64 bits
constexpr std::int64_t most_repeated_bytes = std::int64_t{1} << 28;

Array repeated(const Array& value, const TensorType& type) {
  Array out(type);
  auto element = value.raw_bytes();
  auto* to = static_cast<std::byte*>(out.raw());
  for (std::int64_t i = 0; i < out.elements(); ++i)
    to = std::copy(element.begin(), element.end(), to);
  return out;
}

class Builder {
 public:
  explicit Builder(const BatchSize& batch) : batch_(batch), graph_(std::make_unique<Graph>()) {}

  void add(const Node& node) {
    std::vector<Tensor> inputs;
    for (const Operand& operand : node.inputs) inputs.push_back(tensor(operand));
    nodes_.push_back(node.op == constant_op.name ? &add_constant(node)
                                                 : &add_computed(node, std::move(inputs)));
    const belfry::Node& added = *nodes_.back();
    require(added.outputs().size() == node.outputs.size(), "has ", node.outputs.size(),
            " types but the op ", added.outputs().size(), " outputs");
    for (std::size_t i = 0; i < node.outputs.size(); ++i)
      require(node.outputs[i].at(batch_) == added.outputs()[i], "output ", i, " is said to be ",
              node.outputs[i].at(batch_), " but is ", added.outputs()[i]);
    check_name(added);
  }

  Tensor tensor(const Operand& operand) const {
    require(operand.node >= 0 && static_cast<std::size_t>(operand.node) < nodes_.size(),
            "reads node ", operand.node, ", which does not come before it");
    belfry::Node& node = *nodes_[operand.node];
    require(operand.output >= 0 && static_cast<std::size_t>(operand.output) < node.outputs().size(),
            "reads output ", operand.output, " of ", node, ", which has ", node.outputs().size());
    return Tensor(node, operand.output);
  }

  std::unique_ptr<Graph> release() { return std::move(graph_); }

 private:
  belfry::Node& add_constant(const Node& node) {
    require(node.value.defined() == node.elements.empty() && node.inputs.empty()
                && node.outputs.size() == 1,
            "a constant has a value or elements, one type and no inputs");
    TensorType type = node.outputs[0].at(batch_);
    check_size(type);
    Array value = node.value;
    if (!node.elements.empty()) {
      value = numbers(node.elements, type);
    } else if (node.is_longest()) {
      value = beginning_of(value, type.shape);
    } else if (node.outputs[0].follows_batch()) {
      require(type.bytes() <= most_repeated_bytes - repeated_bytes_, "a constant for ", type,
              " takes the constants that follow the batch beyond 256 MiB");
      repeated_bytes_ += type.bytes();
      value = repeated(value, type);
    }
    return graph_->add(constant_op, {}, ConstantOptions{std::move(value)}, {.scope = node.scope});
  }

  Array numbers(const std::vector<Extent>& elements, const TensorType& type) const {
    require(std::ssize(elements) == type.shape.elements(), "has ", elements.size(),
            " elements but is ", type);
    std::vector<std::int64_t> values;
    for (const Extent& element : elements) values.push_back(element.at(batch_));
    Array whole = Array::of(std::span<const std::int64_t>(values), type.shape);
    Array value = whole.cast(type.dtype);
    require(identical(value.cast(DType::i64), whole), "has elements that ", type.dtype,
            " cannot hold: ", join(values, ", "));
    return value;
  }

  // One copy for all nodes of one tensor: a file may have many of them.
  const Array& beginning_of(const Array& value, const Shape& shape) {
    std::vector<std::int64_t> sizes(shape.begin(), shape.end());
    auto [found, is_new] = beginnings_.try_emplace({value.raw(), std::move(sizes)});
    if (is_new) found->second = beginning(value, shape);
    return found->second;
  }

  belfry::Node& add_computed(const Node& node, std::vector<Tensor> inputs) {
    const KnownOp& known = known_op(node.op);
    require(inputs.size() >= known.fewest_inputs && inputs.size() <= known.most_inputs, "has ",
            inputs.size(), " inputs; expected ", known.fewest_inputs,
            known.most_inputs > known.fewest_inputs ? " or more" : "");
    Options options = known.options(node.options, batch_);
    std::vector<TensorType> types;
    for (const Tensor& t : inputs) types.push_back(t.type());
    ShapeContext context{known.op->name, types, options};
    if (known.check) known.check(context);
    // Before Graph::add() does the same, so that nothing of a size that overflows is ever made.
    for (const TensorType& type : known.op->shape(context)) check_size(type);
    return graph_->add(*known.op, std::move(inputs), std::move(options), {.scope = node.scope});
  }

  // Zeros do not excuse what is beside them: an op may look at some of the axes.
  static void check_size(const TensorType& type) {
    std::int64_t elements = 1;
    for (std::int64_t size : type.shape)
      require(!__builtin_mul_overflow(elements, std::max<std::int64_t>(size, 1), &elements)
                  && elements <= most_elements,
              type, " has more than 2^48 elements");
  }

  void check_name(const belfry::Node& node) {
    if (!node.is(input_op) && !node.is(variable_op)) return;
    const std::string& name =
        node.is(input_op) ? node.as<InputOptions>().name : node.as<VariableOptions>().name;
    require(!name.empty(), "has an empty name");
    require(names_.insert({&node.op(), name}).second, "has the name `", name, "` of another one");
  }

  BatchSize batch_;
  std::int64_t repeated_bytes_ = 0;
  std::unique_ptr<Graph> graph_;
  std::vector<belfry::Node*> nodes_;
  std::set<std::pair<const OpDef*, std::string>> names_;
  std::map<std::pair<const void*, std::vector<std::int64_t>>, Array> beginnings_;
};

}  // namespace

GraphOf instantiate(const Signature& signature, const BatchSize& batch) {
  require(batch.rows >= 0 && batch.steps >= 0, "a batch of ", batch.rows, " rows and ", batch.steps,
          " steps");
  require(batch.steps <= signature.most_steps, "a batch of ", batch.steps,
          " steps; expected at most ", signature.most_steps);
  Builder builder(batch);
  for (std::size_t i = 0; i < signature.nodes.size(); ++i)
    with_context(concat("node ", i, ", ", signature.nodes[i]),
                 [&] { builder.add(signature.nodes[i]); });
  GraphOf built;
  for (const auto& [name, operand] : signature.outputs)
    built.outputs.push_back(with_context(
        concat("result ", name), [&, &operand = operand] { return builder.tensor(operand); }));
  built.graph = builder.release();
  return built;
}

}  // namespace belfry::saved
