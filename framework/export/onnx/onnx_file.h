#pragma once
// A model.onnx as a value, and its bytes. Field numbers: onnx.proto3 of ONNX 1.12.

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "belfry/framework/export/predictor.h"
#include "belfry/framework/tensor/safetensors.h"

namespace belfry::onnx {

/// A list of texts; a class of ours for the reason of saved::Numbers.
struct Words : std::vector<std::string> {
  using std::vector<std::string>::vector;
};

using AttributeValue =
    std::variant<std::int64_t, float, std::string, std::vector<std::int64_t>, Words>;
using Attributes = std::vector<std::pair<std::string, AttributeValue>>;

/// One op; its operands are values by name.
struct OnnxNode {
  std::string type;  ///< "Conv"
  std::string name;
  std::vector<std::string> inputs, outputs;
  Attributes attributes;
};

using TypedNames = std::vector<std::pair<std::string, saved::Type>>;

/// A graph of ONNX' default domain, opset 17.
struct OnnxGraph {
  std::string name;
  std::vector<OnnxNode> nodes;  ///< every node comes after its inputs
  NamedArrays initializers;     ///< constants by name
  TypedNames inputs, outputs;
  /// ExportSignature::preparation, kept as the model's property "belfry.preparation"; empty: none.
  std::string preparation = {};
};

std::int64_t data_type(DType dtype);  ///< TensorProto.DataType

std::int64_t weight_bytes(const OnnxGraph& graph);

/// Error: with so many bytes of weights a file would be beyond 2 GiB, which is all that Protocol
/// Buffers can hold.
void check_size(std::int64_t weights);

/// The file. Sizes that follow the batch have names, "N" or "4*N". Error: see check_size().
std::vector<std::byte> to_bytes(const OnnxGraph& graph);

}  // namespace belfry::onnx
