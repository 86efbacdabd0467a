#pragma once
// Values of the model, and where the time of the input pipeline goes, in the log.

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "belfry/framework/train/hook.h"

namespace belfry::hooks {

/// Options of log_values().
struct LogValuesOptions {
  std::vector<std::string> names = {};  ///< of EstimatorSpec::values, or "loss"; empty: all values
  Every every = Steps(100);             ///< between lines
  bool at_end = false;                  ///< a line for the last step, too, if it has none
  /// Makes the line of a step out of its values; empty: "d_loss = 0.693147, g_loss = 1.2".
  std::function<std::string(std::int64_t step,
                            std::span<const std::pair<std::string, double>> values)>
      format = {};
  std::function<double()> clock = monotonic_seconds;  ///< seconds, never going back
};

/// Logs "step 100: d_loss = 0.693147, g_loss = 1.2" at the first step and then by cadence. Error:
/// a cadence of 0 or below; at the first step, a name that the model's values do not have.
std::shared_ptr<Hook> log_values(LogValuesOptions options = {});

/// Options of log_input().
struct LogInputOptions {
  Every every = std::chrono::seconds(600);            ///< between tables; one more comes at the end
  std::function<double()> clock = monotonic_seconds;  ///< seconds, never going back
};

/// Logs the table of HookContext::input_stages() by cadence and at the end of training; nothing for
/// a stream that does not measure itself. Error: a cadence below 1.
std::shared_ptr<Hook> log_input(LogInputOptions options = {});

}  // namespace belfry::hooks
