#pragma once
// The hooks around steps that train() adds by itself; hook.h says where they stand in the order.

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "belfry/framework/train/hook.h"

namespace belfry {

/// Stops when `last_step` steps are finished.
std::shared_ptr<Hook> stop_at_step(std::int64_t last_step);

/// Error, or a warning unless it `fails`, when the loss or one of EstimatorSpec::values is NaN or
/// infinite after a step, unless the step has applied none of its updates (StepResult::applied is
/// empty): it has trained nothing.
std::shared_ptr<Hook> stop_on_non_finite(bool fails = true);

/// Logs step, loss, speed and where the time goes (breakdown_text()), every so many steps, on the
/// chief. `clock` gives seconds.
std::shared_ptr<Hook> log_steps(Steps every, std::function<double()> clock = monotonic_seconds);

/// Saves at the first step (unless its checkpoint is there), by cadence, and at the end unless
/// training failed, telling the listeners.
std::shared_ptr<Hook> save_checkpoints(Every every);

}  // namespace belfry
