#pragma once
// Lifetimes to offsets.

#include <cstdint>
#include <span>

#include "belfry/framework/compiler/plan.h"

namespace belfry {

inline constexpr std::int64_t block_alignment = 64;  ///< bytes; of every offset

/// Gives each block an offset such that blocks whose lives overlap do not share memory; returns the
/// bytes needed in all. Largest blocks first, each at the lowest gap that fits best (greedy by
/// size, Pisarchyk and Lee, "Efficient memory management for deep neural net inference", 2020,
/// section 5).
std::int64_t assign_offsets(std::span<PlannedBlock> blocks);

}  // namespace belfry
