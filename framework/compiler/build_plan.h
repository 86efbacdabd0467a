#pragma once
// The last step of compilation: from the rewritten program to kernels at planned offsets.

#include <memory>

#include "belfry/framework/compiler/plan.h"

namespace belfry {

/// Chooses kernels, packs, lifetimes and offsets. See CompileOptions.
std::shared_ptr<Plan> build_plan(Program program, Device& device, const CompileOptions& options);

}  // namespace belfry
