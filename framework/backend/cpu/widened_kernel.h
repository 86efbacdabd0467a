#pragma once
// A kernel for 16 bits can be made of any f32 kernel.

#include <memory>

#include "belfry/framework/backend/backend.h"

namespace belfry::cpu {

/// The kernel of the same node in f32, between conversions of its operands of 16 bits, each of
/// which has a place in f32 in the workspace. Its implementation() has " f32" behind the name. Null
/// where no operand has 16 bits, where there is no kernel in f32, and for nodes that change a
/// variable. One thread at a time may call run().
std::unique_ptr<Kernel> make_widened_kernel(const Node& node, const KernelOptions& options);

}  // namespace belfry::cpu
