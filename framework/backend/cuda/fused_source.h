#pragma once
// Chains of elementwise ops as kernels of their own. Internal to backend/cuda.

#include <optional>
#include <string>

#include "belfry/framework/backend/backend.h"
#include "belfry/framework/backend/cuda/kernels/elementwise/fused_arguments.h"
#include "belfry/framework/backend/cuda/launch.h"

namespace belfry::cuda {

/// The kernel of one fused_elementwise node, not compiled yet.
struct FusedSource {
  /// CUDA C++ that defines `extern "C" __global__ void fused_chain(FusedArguments)`. It depends on
  /// the program, the types, the values of scalar constants and on which inputs repeat, not on
  /// sizes: those are arguments, so that many nodes have the same text.
  std::string text;
  FusedArguments arguments = {};  ///< all but the addresses
  LaunchShape shape;              ///< of its launch

  /// The arguments with the addresses of a run.
  FusedArguments at(const KernelArguments& addresses) const;
};

/// Writes it. Nothing for a node that no such kernel is made for: with more inputs than
/// FusedArguments holds, an op that is no functor, without elements, or that divides whole numbers
/// (a division by zero would have to be found).
std::optional<FusedSource> fused_source(const Node& node);

}  // namespace belfry::cuda
