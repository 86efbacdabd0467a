#pragma once
// A plan's memory as a picture of characters.

#include <string>

#include "belfry/framework/compiler/plan.h"

namespace belfry {

/// The bytes that live in the arena over the step: a column for so many instructions, at that of
/// them where the most live, stacked by MemoryUse, a letter for each. Below are the moment of the
/// peak and the five largest tensors there. Empty for a plan that needs no arena.
std::string memory_picture(const Plan& plan);

}  // namespace belfry
