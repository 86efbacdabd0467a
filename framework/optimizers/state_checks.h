#pragma once
// A check of options. Internal to framework/optimizers.

#include <string_view>

#include "belfry/framework/base/error.h"
#include "belfry/framework/ops/update/optimizer_state.h"

namespace belfry {

/// Error: another state than as_variable, and lazy. A row could not stay as it is where the scale
/// of a block changes with its neighbours.
inline void require_state(std::string_view optimizer, OptimizerState state, bool lazy) {
  require(!lazy || state == OptimizerState::as_variable, optimizer, ": lazy is true and state is ",
          state, "; lazy rows need slots as_variable: set lazy to false or state to as_variable");
}

}  // namespace belfry
