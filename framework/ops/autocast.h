#pragma once
// Mixed precision: which ops compute in 16 bits (Micikevicius et al., "Mixed precision training",
// ICLR 2018).

#include <vector>

#include "belfry/framework/graph/graph.h"

namespace belfry {

/// While a model is built with this rule, matrix products, convolutions, recurrences and
/// attention take their operands in `low` (bf16 or f16); sums, powers, exponentials, logarithms and
/// softmax take 16-bit operands in f32; other ops compute in the type of their operands; those with
/// Autocast::widest, elementwise ones and concat, take f32 where operands differ. Variables keep
/// their type; casts are nodes of the graph, so gradients arrive in the variables' type. f64 stays
/// f64.
Graph::InputRule autocast(DType low);

}  // namespace belfry
