#pragma once
// Where the time of the input pipeline goes, in the log.

#include <functional>
#include <memory>

#include "belfry/framework/train/hook.h"

namespace belfry::hooks {

struct LogInputOptions {
  Every every = std::chrono::seconds(600);            ///< between tables; one more comes at the end
  std::function<double()> clock = monotonic_seconds;  ///< seconds, never going back
};

/// Logs the table of HookContext::input_stages() by cadence and at the end of training; nothing for
/// a stream that does not measure itself. Error: a cadence below 1.
std::shared_ptr<Hook> log_input(LogInputOptions options = {});

}  // namespace belfry::hooks
