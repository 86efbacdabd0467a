#pragma once
// Where the time of steps goes, for people.

#include <string>

#include "belfry/framework/graph/step_record.h"

namespace belfry {

/// Shares of `seconds`, which steps took in all, their waiting for input included; the other times
/// are sums over the same steps:
///
///    input 3%, copy 1%, compute 83%, transfer 1%, reduce 2% (+9% hidden), apply 10%
///
/// `compute` is forward and backward; `transfer` waits for other slots of a tower; `reduce` waits
/// for sums over towers, while hidden ones are under way beside computing and cost nothing. `copy`
/// is shown from 1% on; `transfer` and `reduce` where there is any; nothing but `input` where
/// `times` are all 0. `seconds` must be above 0.
std::string breakdown_text(double input_wait_seconds, const StepTimes& times, double seconds);

}  // namespace belfry
