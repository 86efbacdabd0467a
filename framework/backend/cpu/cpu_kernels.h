#pragma once
// How fast CPU kernels are found: each kernel file registers a factory for its op.

#include <functional>
#include <memory>

#include "belfry/framework/backend/backend.h"

namespace belfry::cpu {

/// Prepares the kernel of a node for `threads` threads, or returns null when it has none for these
/// types, shapes or options: the next factory registered for the op is asked, then, for operands of
/// 16 bits, all of them for the same node in f32 (widened_kernel.h); then the reference runs.
using KernelFactory = std::function<std::unique_ptr<Kernel>(const Node& node, int threads)>;

/// A static object of this type in a kernel's file makes its factory known.
struct KernelRegistration {
  KernelRegistration(const OpDef& op, KernelFactory factory);
};

std::unique_ptr<Kernel> find_kernel(const Node& node, int threads);

}  // namespace belfry::cpu
