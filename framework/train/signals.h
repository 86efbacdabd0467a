#pragma once
// SIGINT and SIGTERM as a wish to stop.

#include <csignal>

namespace belfry {

/// While it lives, the first SIGINT or SIGTERM is noted instead of ending the process, and restores
/// what was in place before, so that a second one does. One at a time in a process: while another
/// lives, it does nothing.
class SignalGuard {
 public:
  SignalGuard();
  ~SignalGuard();
  SignalGuard(const SignalGuard&) = delete;
  SignalGuard& operator=(const SignalGuard&) = delete;

  /// "SIGINT", "SIGTERM", or null when none came.
  const char* received() const;

 private:
  bool active_ = false;
};

}  // namespace belfry
