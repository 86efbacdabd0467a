#pragma once
// Lifetimes to offsets.

#include <cstdint>
#include <span>

#include "belfry/framework/compiler/plan.h"

namespace belfry {

inline constexpr std::int64_t block_alignment = 64;  ///< bytes; of every offset
inline std::int64_t aligned(std::int64_t bytes) {
  return (bytes + block_alignment - 1) / block_alignment * block_alignment;
}

/// Gives each block an offset such that blocks whose lives overlap do not share memory; returns the
/// bytes needed in all. Each lies at the lowest gap that holds it: those that live when the most
/// bytes do first, the longest lives before the others, then the rest, the largest first; or all by
/// size where that needs less (greedy by size: Pisarchyk and Lee, "Efficient memory management for
/// deep neural net inference", 2020, section 5). Training plans of the models by name need
/// what lives at that moment and at most 2 % more.
std::int64_t assign_offsets(std::span<PlannedBlock> blocks);

}  // namespace belfry
