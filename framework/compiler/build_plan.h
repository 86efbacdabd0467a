#pragma once
// The last step of compilation: from the rewritten program to kernels at planned offsets.

#include <memory>
#include <span>
#include <vector>

#include "belfry/framework/compiler/plan.h"

namespace belfry {

/// Chooses kernels, packs, lifetimes and offsets, for the programs of a tower's slots, each for its
/// device. See CompileOptions.
std::vector<std::shared_ptr<Plan>> build_plans(std::vector<Program> programs,
                                               std::span<Device* const> devices,
                                               const CompileOptions& options);

}  // namespace belfry
