#pragma once
// The kernels of chain_cases() as functions of the host. Their definitions are written and compiled
// in the build.

#include <span>

#include "belfry/framework/backend/cuda/kernels/elementwise/fused_arguments.h"

namespace belfry::cuda {

using CompiledChain = void (*)(FusedArguments);

/// In the order of chain_cases().
std::span<const CompiledChain> compiled_chains();

}  // namespace belfry::cuda
