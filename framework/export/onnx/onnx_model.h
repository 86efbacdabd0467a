#pragma once
// From a saved graph to ONNX.

#include <cstddef>
#include <string>
#include <vector>

#include "belfry/framework/export/onnx/onnx_file.h"
#include "belfry/framework/export/saved_graph.h"

namespace belfry::onnx {

/// The signature as a graph of ONNX, with names of inputs and outputs as there. What depends on
/// weights alone is computed here; factors and terms of channels behind a convolution, a transposed
/// one or a product with weights, batch norm among them, become part of its kernel and bias, even
/// behind reshapes. Random numbers become inputs, by the scope path and name of the op that draws
/// them: generator/random_normal. Error, naming op and scope path: there is no conversion of the
/// op.
OnnxGraph convert(const saved::Signature& signature, const NamedArrays& weights,
                  const std::string& name);

/// Error: to_onnx() would throw one, whatever the weights; what depends on them alone is not
/// computed. Takes the memory of the largest, and of those that the file holds in another order.
void check_convertible(const saved::Signature& signature, const std::string& name);

std::vector<std::byte> to_onnx(const saved::Signature& signature, const NamedArrays& weights,
                               const std::string& name);

}  // namespace belfry::onnx
