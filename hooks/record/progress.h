#pragma once
// How training is getting on, on one line.

#include <functional>
#include <memory>
#include <string_view>

#include "belfry/framework/train/hook.h"

namespace belfry::hooks {

/// The terminal that the progress line is drawn on.
struct Terminal {
  int columns = 0;                                   ///< 0: it is no terminal
  std::function<void(std::string_view)> write = {};  ///< bytes as they are
  /// Columns when a line is drawn, as windows change; empty, or 0: `columns`.
  std::function<int()> present_columns = {};
};
/// This process's stderr. No terminal if it is redirected, or if TERM is `dumb`.
Terminal stderr_terminal();

/// Options of progress().
struct ProgressOptions {
  Steps every = Steps(100);               ///< between log lines, where stderr is no terminal
  Terminal terminal = stderr_terminal();  ///< without columns: log lines take its place
  std::function<double()> clock = monotonic_seconds;  ///< seconds, never going back
};

/// On a terminal, one line that is drawn again at most ten times a second:
///
///    42%|########            | 420/1000 [00:12<00:17, 34.1 steps/s, 4365 examples/s, loss 0.1234,
///    input 3%, compute 85%, reduce 2% (+9% hidden), apply 10%]
///
/// with time spent < time left, the loss and behind it the model's own values
/// (EstimatorSpec::values), both as means of the last 50 steps or so, and the shares of time that
/// belfry::breakdown_text() explains: what `input` waits for data, and so on. Speeds and shares are
/// those of the last seconds, the time left that of the last half minute; none of them counts
/// evaluations and checkpoints. Where it is narrow the bar shrinks first, then numbers are left
/// out, the times last. An evaluation between steps and a checkpoint that training waits for take
/// its place while they last: "evaluating: 12/40 batches [00:03<00:07]". Log lines appear above it.
/// Where there is no terminal, the same numbers as a log line every so many steps: set
/// RunConfig::log_step_count to 0 beside it. Of several workers the chief alone shows it. Error:
/// `every` below 1.
std::shared_ptr<Hook> progress(ProgressOptions options = {});

}  // namespace belfry::hooks
