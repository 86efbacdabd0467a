#pragma once
// Small ops for tests of the graph layer, which has none but leaves and assign.

#include "belfry/framework/graph/graph.h"

namespace belfry {

struct ScaleOptions {
  double factor = 1;
  std::int64_t repeat = 1;
  static void fields(auto& o, auto&& field) {
    field("factor", o.factor);
    field("repeat", o.repeat);
  }
};

inline void no_kernel(const KernelContext&) {}

/// One input, one output of the same type.
inline const OpDef scale_op{.name = "scale", .shape = same_shape, .reference = no_kernel};

/// Two inputs of one type to one output of that type.
inline std::vector<TensorType> join_shape(const ShapeContext& c) {
  require(c.inputs[0] == c.inputs[1], "join: ", c.inputs[0], " and ", c.inputs[1], " differ");
  return {c.inputs[0]};
}
inline const OpDef join_op{.name = "join", .shape = join_shape, .reference = no_kernel};

/// One input, two outputs: itself and its number of elements.
inline std::vector<TensorType> measure_shape(const ShapeContext& c) {
  return {c.inputs[0], {{}, DType::i64}};
}
inline const OpDef measure_op{.name = "measure", .shape = measure_shape, .reference = no_kernel};

}  // namespace belfry
