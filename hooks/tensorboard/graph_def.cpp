#include <map>
#include <set>
#include <string>

#include "belfry/framework/base/fields.h"
#include "belfry/framework/base/protobuf_wire.h"
#include "belfry/framework/graph/leaves.h"
#include "belfry/hooks/tensorboard/event_file.h"

namespace belfry::hooks {
namespace {

using protobuf::WireWriter;

// Numbers of tensorflow/core/framework/types.proto.
std::uint64_t type_number(DType dtype) {
  switch (dtype) {
    case DType::f32:
      return 1;
    case DType::f64:
      return 2;
    case DType::i32:
      return 3;
    case DType::u8:
      return 4;
    case DType::i64:
      return 9;
    case DType::boolean:
      return 10;
    case DType::bf16:
      return 14;
    case DType::f16:
      return 19;
  }
  no_such_value(dtype);
}

std::string wished_name(const Node& node) {
  if (node.is(variable_op)) return node.as<VariableOptions>().name;
  if (node.is(input_op)) return node.as<InputOptions>().name;
  std::string name = node.scope().empty() ? "" : node.scope() + "/";
  return (node.phase() == Phase::backward ? "gradients/" : "") + name + std::string(node.op().name);
}

// By node number. The second of a name is <name>_1, as in TensorFlow.
std::vector<std::string> unique_names(const Graph& graph) {
  std::vector<std::string> out;
  std::map<std::string, int> next;
  std::set<std::string> taken;
  for (const auto& node : graph) {
    std::string wished = wished_name(*node), name = wished;
    while (!taken.insert(name).second) name = concat(wished, "_", ++next[wished]);
    out.push_back(name);
  }
  return out;
}

// attr = 5: a map from names to AttrValue.
template <class Body>
void put_attribute(WireWriter& out, std::string_view name, Body body) {
  out.message(5, [&] {
    out.text(1, name);
    out.message(2, body);
  });
}

void put_shape(WireWriter& out, const Shape& shape) {
  for (int axis = 0; axis < shape.rank(); ++axis)
    out.message(2, [&] { out.varint(1, shape[axis]); });
}

// NodeDef: name = 1, op = 2, input = 3, device = 4, attr = 5.
void put_node(WireWriter& out, const Node& node, const std::vector<std::string>& names) {
  auto name_of = [&](const Node& n) -> const std::string& { return names[n.id()]; };
  out.text(1, name_of(node));
  out.text(2, node.op().name);
  for (const Tensor& input : node.inputs()) {
    const std::string& from = name_of(input.node());
    out.text(3, input.index() == 0 ? from : concat(from, ":", input.index()));
  }
  if (node.device() != 0) out.text(4, concat("slot:", node.device()));
  if (!node.outputs().empty()) {
    put_attribute(out, "T", [&] { out.varint(6, type_number(node.output().dtype)); });
    put_attribute(out, "_output_shapes", [&] {
      out.message(1, [&] {
        for (const TensorType& type : node.outputs())
          out.message(7, [&] { put_shape(out, type.shape); });
      });
    });
  }
  if (std::string options = to_string(node.options()); !options.empty())
    put_attribute(out, "options", [&] { out.text(2, options); });
}

}  // namespace

std::vector<std::byte> graph_def(const Graph& graph) {
  const std::vector<std::string> names = unique_names(graph);
  WireWriter out;
  for (const auto& node : graph) {
    WireWriter one;  // lengths are put before what they count, which then moves
    put_node(one, *node, names);
    out.bytes(1, one.release());
  }
  out.message(4, [&] { out.varint(1, 1); });  // versions: producer
  return out.release();
}

}  // namespace belfry::hooks
