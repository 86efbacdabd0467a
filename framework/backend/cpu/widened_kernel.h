#pragma once
// What makes any f32 kernel one for 16 bits.

#include <memory>

#include "belfry/framework/backend/backend.h"

namespace belfry::cpu {

/// The kernel of the same node in f32, between conversions of its operands of 16 bits, which take
/// some of the plan's workspace; null when there is no such operand or no such kernel.
std::unique_ptr<Kernel> make_widened_kernel(const Node& node, int threads);

}  // namespace belfry::cpu
