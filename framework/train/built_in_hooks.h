#pragma once
// The hooks that train() adds by itself; hook.h says where they stand in the order.

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "belfry/framework/train/hook.h"

namespace belfry {

/// First of the gradient hooks: gradients become their sum over towers, each tower's being weighted
/// by its rows already. They are summed in buckets of at least so many bytes, in the order in which
/// the backward pass makes them; a bucket's sum is under way while backward goes on.
std::shared_ptr<Hook> average_gradients(Bytes bucket);

/// Last of them: adds the nodes of the optimizer.
std::shared_ptr<Hook> apply_gradients();

/// Stops when `last_step` steps are finished.
std::shared_ptr<Hook> stop_at_step(std::int64_t last_step);

/// Error when the loss or one of EstimatorSpec::values is NaN or infinite after a step.
std::shared_ptr<Hook> stop_on_non_finite();

/// Logs step, loss, speed and the share of time spent waiting for input, every so many steps.
std::shared_ptr<Hook> log_steps(Steps every);

/// Saves at the first step (unless its checkpoint is there), by cadence, and at the end unless
/// training failed, telling the listeners.
std::shared_ptr<Hook> save_checkpoints(Every every);

}  // namespace belfry
