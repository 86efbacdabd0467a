#pragma once
// Lifetimes to offsets; when what devices send each other may arrive. Internal to compiler/.

#include <cstdint>
#include <span>
#include <vector>

#include "belfry/framework/compiler/plan.h"

namespace belfry {

/// One end of a transfer, in the order of its device.
struct TransferEnd {
  int number = 0;  ///< of the transfer
  int at = 0;      ///< the instruction
  bool sends = false;
};

/// For each transfer, by number: how many of the receiver's first instructions are over for sure
/// when it arrives. These are the ones up to a send that the sender has waited for, itself or
/// through others (Lamport, "Time, clocks, and the ordering of events in a distributed system",
/// 1978). From then until its last reader its memory is taken. `devices`: the ends of each device
/// in its order, for transfers 0, 1, ...
std::vector<int> arrivals(std::span<const std::vector<TransferEnd>> devices);

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
