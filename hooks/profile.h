#pragma once
// Where the time of a few steps goes, as a file for a trace viewer.

#include <cstdint>
#include <memory>
#include <string>

#include "belfry/framework/train/hook.h"

namespace belfry::hooks {

/// Options of profile().
struct ProfileOptions {
  /// Replaced when training begins, also by the same hook in a later training; its folder must
  /// exist.
  std::string path = "trace.json";
  std::int64_t first_step = 10;  ///< of this training, whose first is 1; later than the warm-up
  std::int64_t steps = 3;        ///< how many, one after the other
};

/// Writes a trace of some steps, which chrome://tracing and https://ui.perfetto.dev show: Chrome's
/// Trace Event Format, a JSON array of complete events in microseconds. Of the host it has the
/// waiting for input, the step and what is between two steps (the process "host"); of each tower
/// and device of it (of this process; the process "tower 0", the thread "slot 0") every instruction
/// by its op's name, with its scope path, phase and what it does ("compute", "pack", "start",
/// "finish", "send" or "receive"). What brings weights into a kernel's layout or type, and
/// gradients back, is named "pack", as in Estimator::explain(). "step 110" is the one after which
/// global_step is 110, whichever of this training it is.
///
/// These steps run launch by launch and none behind the host, so a GPU takes longer for them than
/// for others; what they compute is the same. Other steps cost nothing. The chief alone writes:
/// when the last step is over, or at the end. Training that ends before `first_step` logs a warning
/// and leaves an empty trace. Error: a first step or a number of steps below 1; at the beginning, a
/// file that cannot be written.
std::shared_ptr<Hook> profile(ProfileOptions options = {});

}  // namespace belfry::hooks
