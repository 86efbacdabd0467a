#pragma once
// Chains that the tests of compiled kernels go through: every functor, every type, every way in
// which an operand may lie.

#include <string>
#include <vector>

#include "belfry/framework/ops/elementwise/fused_elementwise.h"
#include "belfry/framework/tensor/array.h"

namespace belfry::cuda {

struct ChainInput {
  TensorType type;
  bool constant = false;  ///< a node that holds `value`
  Array value;            ///< what it is run on
};

struct ChainCase {
  std::string name;
  std::vector<ChainInput> inputs;
  std::vector<FusedInstruction> program;
  bool casts = false;
  DType result = DType::f32;

  /// The same with all 16-bit floats as f32: what a kernel computes before it rounds the result.
  ChainCase in_f32() const;
};

const std::vector<ChainCase>& chain_cases();

/// Its node; inputs that are no constants are named x0, x1, ...
Node& build(Graph& graph, const ChainCase& chain);

}  // namespace belfry::cuda
