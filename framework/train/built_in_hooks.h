#pragma once
// The hooks that train() adds by itself; hook.h says where they stand in the order.

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "belfry/framework/train/hook.h"

namespace belfry {

struct AverageOptions {
  Bytes bucket = Bytes(4 << 20);  ///< gradients are summed in pieces of about this size
  std::int64_t rows = 1;          ///< of this tower; one without any computes on one
  std::int64_t most_rows = 1;     ///< of any tower
  bool even_rows = true;          ///< all towers have as many
  bool alike = true;              ///< their batches differ in the number of rows at most
};
/// First of the gradient hooks: gradients become their sum over towers, each tower's being weighted
/// by its rows already. They are summed in the backward order of their variables; a bucket's sum is
/// under way while the backward pass goes on. Where rows were looked up in a large table, the rows
/// of its gradient are exchanged with their indices.
std::shared_ptr<Hook> average_gradients(const AverageOptions& options);

/// Last of them: adds the nodes of the optimizer.
std::shared_ptr<Hook> apply_gradients();

/// Stops when `last_step` steps are finished.
std::shared_ptr<Hook> stop_at_step(std::int64_t last_step);

/// Error, or a warning unless it `fails`, when the loss or one of EstimatorSpec::values is NaN or
/// infinite after a step, unless the step has applied none of its updates (StepResult::applied is
/// 0): it has trained nothing.
std::shared_ptr<Hook> stop_on_non_finite(bool fails = true);

/// Logs step, loss, speed and where the time goes (breakdown_text()), every so many steps, on the
/// chief. `clock` gives seconds.
std::shared_ptr<Hook> log_steps(Steps every, std::function<double()> clock = monotonic_seconds);

/// Saves at the first step (unless its checkpoint is there), by cadence, and at the end unless
/// training failed, telling the listeners.
std::shared_ptr<Hook> save_checkpoints(Every every);

}  // namespace belfry
