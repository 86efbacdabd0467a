#pragma once
// Records of where the time of a step went.

#include <cstdint>
#include <string>

#include "belfry/framework/base/fields.h"
#include "belfry/framework/graph/graph.h"

namespace belfry {

/// Seconds of the host's clock, which never goes back.
double steady_seconds();

/// The seconds of a step, by what they went into.
struct StepTimes {
  double copy = 0;               ///< bringing the batch to the device and results back
  double compute = 0;            ///< forward and backward, without waiting for others
  double transfer = 0;           ///< waiting for what other devices of the tower compute
  double exposed_reduction = 0;  ///< waiting for reductions over towers
  /// While the tower computed and a reduction was under way: started, and not yet waited for. CPU
  /// towers do the adding when they wait.
  double hidden_reduction = 0;
  double apply = 0;  ///< effects: the optimizer and what else writes variables
  // A step of an asynchronous device that is enqueued as a whole counts as compute, all of it.

  /// For sums and means: each number by itself.
  ///@{
  StepTimes& operator+=(const StepTimes& other);
  StepTimes operator/(double n) const;
  ///@}
};

/// The part that an instruction has in a step.
enum class InstructionRole : std::uint8_t {
  compute,
  pack,     ///< brings each input into another layout, in which later kernels want it
  start,    ///< begins a reduction of the outputs, which are the inputs at first
  finish,   ///< the inputs are what start() reduced; nothing reads them before
  send,     ///< brings input 0 to the device that receives it
  receive,  ///< waits for output 0, which another device sends; nothing reads it before
};
constexpr auto names_of(InstructionRole) {
  return name_list("compute", "pack", "start", "finish", "send", "receive");
}

/// An instruction of a traced step.
struct TraceEntry {
  std::string op = {};                              ///< "conv2d"
  std::string scope = {};                           ///< path, "discriminator/down1"; may be empty
  Phase phase = Phase::forward;                     ///< its node's purpose
  InstructionRole role = InstructionRole::compute;  ///< its part in the step
  int tower = 0;                                    ///< among those of this process
  int device = 0;                                   ///< of the tower
  double start_seconds = 0;                         ///< by steady_seconds()
  double seconds = 0;                               ///< until the device had done it
};

}  // namespace belfry
