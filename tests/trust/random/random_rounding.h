#pragma once
// Models whose ops round more than they do.

#include <cstdint>
#include <vector>

#include "belfry/framework/graph/rewrite.h"

namespace belfry::random_models {

/// The same outputs as if every op had operands that are off by a fraction of each element. Each
/// element of a result is one of two, which differ in how the operands were off: sums within an op
/// round for each of its results anew, and elements that cancel each other exactly do so no longer.
Program rounded(const std::vector<Tensor>& outputs, double fraction, std::uint64_t seed);

}  // namespace belfry::random_models
