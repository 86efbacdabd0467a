#pragma once
// The hooks that train() adds by itself; hook.h says where they stand in the order.

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "belfry/framework/train/hook.h"

namespace belfry {

/// Stops when `last_step` steps are finished.
std::shared_ptr<Hook> stop_at_step(std::int64_t last_step);

/// Error when the loss or one of EstimatorSpec::values is NaN or infinite after a step, unless the
/// step has applied none of its updates (StepResult::applied is 0): it has trained nothing.
std::shared_ptr<Hook> stop_on_non_finite();

/// Logs step, loss, speed and the share of time spent waiting for input, every so many steps.
std::shared_ptr<Hook> log_steps(Steps every);

/// Saves at the first step (unless its checkpoint is there), by cadence, and at the end unless
/// training failed, telling the listeners.
std::shared_ptr<Hook> save_checkpoints(Every every);

}  // namespace belfry
