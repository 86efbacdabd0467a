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
/// bytes needed in all. Each lies at the lowest gap that holds it, in the best of a few orders:
/// first those that live when the most bytes do, the longest lives before the others; by size; by
/// how much lives beside them at most (the last two after Pisarchyk and Lee, "Efficient memory
/// management for deep neural net inference", 2020, section 5). In each order what came to lie
/// highest is then tried first, a few times. Training plans of the models by name need what lives
/// at a time and at most 1 % more.
std::int64_t assign_offsets(std::span<PlannedBlock> blocks);

}  // namespace belfry
