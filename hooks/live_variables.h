#pragma once
// Common functions of the hooks that run the model on the live variables while it trains. Internal
// to hooks/.

#include <cstdint>
#include <string>

#include "belfry/framework/train/estimator.h"

namespace belfry::hooks {

/// Whether the model is run after this step: every so many, counted from step 0, and after the
/// last one where training has a limit.
bool has_turn(const HookContext& context, std::int64_t step, Steps every);

/// Whether the loss and the model's other values are. If not, the step is no success to look at.
bool is_finite(const StepResult& result);

/// The scalars among them, but for the step: "accuracy = 0.5, loss = 1.25".
std::string results_text(const EvalResult& results);

/// Error, beginning with `owner`: the variables of `estimator`, which trains, have no moving
/// averages.
void check_averages(const std::string& owner, Estimator& estimator);

/// Error, naming the hook: `every` is below 1.
void check_every(const char* hook, Steps every);

}  // namespace belfry::hooks
