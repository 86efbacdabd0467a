#pragma once
// Moving averages of variables, which often predict better than the variables themselves (Polyak
// and Juditsky 1992).

#include <span>
#include <string_view>

#include "belfry/framework/graph/leaves.h"
#include "belfry/framework/ops/update/optimizer_state.h"

namespace belfry {

/// The average of the variable `conv1/kernel` is the variable `conv1/kernel/moving_average`.
inline constexpr std::string_view moving_average_suffix = "/moving_average";

/// Adds an exponential moving average for each of these variables (of one graph) and the effects
/// that update them, by update::MovingAverage in framework/ops/update/update_functors.h. Called
/// after an optimizer's nodes were made, it averages what their update leaves. In a step in which
/// `condition` (bool []; undefined: always true) is false, averages stay as they are.
///
/// An average is a variable of kind slot, of its variable's type and on its device. It begins as
/// zeros and takes its variable's value at its first update, after which it was updated once: it
/// has its own count of updates, `conv1/kernel/moving_average_count`, an i64 [] of kind slot. So it
/// weighs nothing from before its beginning, and warms up from there, wherever in training that is.
///
/// Error: the decay is outside [0, 1); a variable has an average already or is not floating.
void add_moving_averages(std::span<const Variable> variables,
                         const MovingAverageUpdateOptions& options = {}, Tensor condition = {});

}  // namespace belfry
