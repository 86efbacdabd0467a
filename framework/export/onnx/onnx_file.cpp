#include "belfry/framework/export/onnx/onnx_file.h"

#include <algorithm>
#include <bit>
#include <limits>

#include "belfry/framework/base/fields.h"
#include "belfry/framework/base/protobuf_wire.h"

namespace belfry::onnx {
namespace {

using protobuf::WireWriter;

constexpr std::uint64_t ir_version = 8, opset = 17;

std::uint64_t bits(std::int64_t value) { return value; }

void write(WireWriter& to, const std::string& name, const AttributeValue& value) {
  enum : std::uint64_t {
    type_float = 1,
    type_int = 2,
    type_string = 3,
    type_ints = 7,
    type_strings = 8
  };
  to.text(1, name);
  std::visit(
      [&](const auto& x) {
        using T = std::decay_t<decltype(x)>;
        if constexpr (std::is_same_v<T, float>) {
          to.fixed32(2, std::bit_cast<std::uint32_t>(x));
          to.varint(20, type_float);
        } else if constexpr (std::is_same_v<T, std::int64_t>) {
          to.varint(3, bits(x));
          to.varint(20, type_int);
        } else if constexpr (std::is_same_v<T, std::string>) {
          to.text(4, x);
          to.varint(20, type_string);
        } else if constexpr (std::is_same_v<T, Words>) {
          for (const std::string& element : x) to.text(9, element);
          to.varint(20, type_strings);
        } else {
          for (std::int64_t element : x) to.varint(8, bits(element));
          to.varint(20, type_ints);
        }
      },
      value);
}

void write(WireWriter& to, const OnnxNode& node) {
  for (const std::string& input : node.inputs) to.text(1, input);
  for (const std::string& output : node.outputs) to.text(2, output);
  to.text(3, node.name);
  to.text(4, node.type);
  for (const auto& [name, value] : node.attributes)
    to.message(5, [&, &name = name, &value = value] { write(to, name, value); });
}

void write(WireWriter& to, const std::string& name, const Array& value) {
  for (std::int64_t size : value.shape()) to.varint(1, bits(size));
  to.varint(2, bits(data_type(value.dtype())));
  to.text(8, name);
  to.bytes(9, value.raw_bytes());
}

void write(WireWriter& to, const std::string& name, const saved::Type& type) {
  auto dimension = [&](const saved::Extent& size) {
    if (!size.follows_batch()) return to.varint(1, bits(size.fixed));
    std::string text = to_string(size);
    std::ranges::replace(text, 'n', 'N');
    std::ranges::replace(text, 't', 'T');
    to.text(2, text);
  };
  auto shape = [&] {
    for (const saved::Extent& size : type.sizes) to.message(1, [&] { dimension(size); });
  };
  to.text(1, name);
  to.message(2, [&] {    // TypeProto
    to.message(1, [&] {  // Tensor
      to.varint(1, bits(data_type(type.dtype)));
      to.message(2, shape);
    });
  });
}

void write(WireWriter& to, const OnnxGraph& graph) {
  for (const OnnxNode& node : graph.nodes) to.message(1, [&] { write(to, node); });
  to.text(2, graph.name);
  for (const auto& [name, value] : graph.initializers)
    to.message(5, [&, &name = name, &value = value] { write(to, name, value); });
  for (const auto& [name, type] : graph.inputs)
    to.message(11, [&, &name = name, &type = type] { write(to, name, type); });
  for (const auto& [name, type] : graph.outputs)
    to.message(12, [&, &name = name, &type = type] { write(to, name, type); });
}

}  // namespace

std::int64_t data_type(DType dtype) {
  switch (dtype) {
    case DType::f64:
      return 11;
    case DType::f32:
      return 1;
    case DType::bf16:
      return 16;
    case DType::f16:
      return 10;
    case DType::i64:
      return 7;
    case DType::i32:
      return 6;
    case DType::u8:
      return 2;
    case DType::boolean:
      return 9;
  }
  no_such_value(dtype);
}

std::int64_t weight_bytes(const OnnxGraph& graph) {
  std::int64_t bytes = 0;
  for (const auto& [name, value] : graph.initializers) bytes += value.bytes();
  return bytes;
}

void check_size(std::int64_t weights) {
  require(weights < std::numeric_limits<std::int32_t>::max() - (1 << 24),
          "onnx: ", bytes_text(weights),
          " of weights; an ONNX file holds 2 GiB at most; set "
          "ExportOptions::onnx to false");
}

std::vector<std::byte> to_bytes(const OnnxGraph& graph) {
  check_size(weight_bytes(graph));
  WireWriter to;
  to.varint(1, ir_version);
  to.text(2, "belfry");
  to.message(7, [&] { write(to, graph); });
  to.message(8, [&] { to.varint(2, opset); });
  if (!graph.preparation.empty())
    to.message(14, [&] {
      to.text(1, "belfry.preparation");
      to.text(2, graph.preparation);
    });
  return to.release();
}

}  // namespace belfry::onnx
