#pragma once
// When what slots send each other may arrive. Internal to compiler/.

#include <span>
#include <vector>

namespace belfry {

/// One end of a transfer, in the order of its slot.
struct TransferEnd {
  int number = 0;  ///< of the transfer
  int at = 0;      ///< the instruction
  bool sends = false;
};

/// For each transfer, by number: how many of the receiver's first instructions are over for sure
/// when it arrives. These are the ones up to a send that the sender has waited for, itself or
/// through others (Lamport, "Time, clocks, and the ordering of events in a distributed system",
/// 1978). From then until its last reader its memory is taken. `slots`: the ends of each slot in
/// its order, for transfers 0, 1, ...
std::vector<int> arrivals(std::span<const std::vector<TransferEnd>> slots);

}  // namespace belfry
