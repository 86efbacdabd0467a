#pragma once
// A chain of elementwise ops as one op. Made by the compiler, never by a model.

#include <array>
#include <string>
#include <vector>

#include "belfry/framework/graph/graph.h"

namespace belfry {

/// One op of a fused program. Arguments number the values: those below the number of inputs are the
/// inputs, the others are results of earlier instructions.
struct FusedInstruction {
  const OpDef* op = nullptr;                    ///< elementwise
  std::array<int, 3> arguments = {-1, -1, -1};  ///< -1 behind the last
};

std::string to_string(
    const std::vector<FusedInstruction>& program);  ///< "v2=mul(v0,v1); v3=relu(v2)"

/// Bounds of what one kernel keeps at hand; the compiler makes several of longer chains.
inline constexpr int most_fused_inputs = 12, most_fused_instructions = 16;

struct FusedOptions {
  std::vector<FusedInstruction> program = {};  ///< the last one's result is the output
  /// Whether inputs of other types than f32, bool apart, are cast to f32 when they are read, and
  /// the result to `result`.
  bool casts = false;
  DType result = DType::f32;  ///< with `casts`
  static void fields(auto& o, auto&& field) {
    field("program", to_string(o.program));
    if (o.casts) field("result", o.result);
  }
};
/// Inputs broadcast to the output's shape; each value inside has the shape of the output.
extern const OpDef fused_elementwise_op;
Tensor fused_elementwise(std::vector<Tensor> inputs, FusedOptions options);

/// The type of such an input inside of the program.
DType type_inside(const FusedOptions& options, DType input);

}  // namespace belfry
