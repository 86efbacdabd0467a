#include "belfry/framework/export/saved_graph.h"

#include <algorithm>

namespace belfry::saved {
namespace {

Array beginning_along(int axis, const Array& value, std::int64_t count) {
  std::int64_t all = value.shape()[axis], outer = 1, inner = size_of(value.dtype());
  if (count == all) return value;
  std::vector<std::int64_t> sizes(value.shape().begin(), value.shape().end());
  for (int i = 0; i < axis; ++i) outer *= sizes[i];
  for (int i = axis + 1; i < value.shape().rank(); ++i) inner *= sizes[i];
  sizes[axis] = count;
  Array out(Shape(sizes), value.dtype());
  const std::byte* from = value.raw_bytes().data();
  auto* to = static_cast<std::byte*>(out.raw());
  for (std::int64_t i = 0; i < outer; ++i, from += all * inner)
    to = std::copy_n(from, count * inner, to);
  return out;
}

}  // namespace

const Value& Node::option(std::string_view name) const {
  auto found = std::ranges::find(options, name, &Option::name);
  require(found != options.end(), *this, ": has no option `", name, "`");
  return found->value;
}

Array beginning(const Array& value, const Shape& shape) {
  bool within = value.shape().rank() == shape.rank();
  for (int axis = 0; within && axis < shape.rank(); ++axis)
    within = shape[axis] <= value.shape()[axis];
  require(within, "a constant of ", value.type(), " gives none of ", shape);
  Array part = value;
  for (int axis = 0; axis < shape.rank(); ++axis) part = beginning_along(axis, part, shape[axis]);
  return part;
}

bool Node::is_longest() const {
  return value.defined() && value.shape().rank() > 0 && outputs[0].follows_batch();
}

std::string to_string(const Node& node) {
  return node.scope.empty() ? node.op : concat(node.op, " (at ", node.scope, ")");
}

bool is_run_input(std::string_view name) { return name.starts_with("run/"); }

std::vector<const Node*> Signature::inputs() const {
  std::vector<const Node*> found;
  for (const Node& node : nodes) {
    if (node.op != "input") continue;
    const auto* name = std::get_if<std::string>(&node.option("name"));
    require(name, node, ": its name is no text");
    if (!is_run_input(*name)) found.push_back(&node);
  }
  return found;
}

const Type& Signature::type(Operand operand) const {
  return nodes[operand.node].outputs[operand.output];
}

}  // namespace belfry::saved
