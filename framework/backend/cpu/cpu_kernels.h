#pragma once
// How fast CPU kernels are found: each kernel file registers a factory for its op.

#include <concepts>
#include <functional>
#include <memory>

#include "belfry/framework/backend/backend.h"

namespace belfry::cpu {

/// Prepares the kernel of a node, or returns null when it has none for these types, shapes or
/// options: the next factory registered for the op is asked, then, for operands of 16 bits, all of
/// them for the same node in f32 (widened_kernel.h); then the reference runs.
using KernelFactory =
    std::function<std::unique_ptr<Kernel>(const Node& node, const KernelOptions& options)>;

/// A static object of this type in a kernel's file makes its factory known.
struct KernelRegistration {
  KernelRegistration(const OpDef& op, KernelFactory factory);
  /// The same for a factory that asks for the number of threads alone.
  template <std::invocable<const Node&, int> Factory>
  KernelRegistration(const OpDef& op, Factory factory)
      : KernelRegistration(op, [factory](const Node& node, const KernelOptions& options) {
          return factory(node, options.threads);
        }) {}
};

std::unique_ptr<Kernel> find_kernel(const Node& node, const KernelOptions& options);
inline std::unique_ptr<Kernel> find_kernel(const Node& node, int threads) {
  return find_kernel(node, KernelOptions{.threads = threads});
}

}  // namespace belfry::cpu
