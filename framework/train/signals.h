#pragma once
// SIGINT and SIGTERM as a wish to stop.

#include <csignal>

namespace belfry {

/// While it lives, the first SIGINT or SIGTERM is noted instead of ending the process, and restores
/// what was in place before, so that a second one does. Guards that live side by side, one for each
/// training of a process, all hear of it. Made and destroyed on any thread.
class SignalGuard {
 public:
  SignalGuard();
  ~SignalGuard();
  SignalGuard(const SignalGuard&) = delete;
  SignalGuard& operator=(const SignalGuard&) = delete;

  /// "SIGINT", "SIGTERM", or null when none came.
  const char* received() const;

 private:
  int before_;  // signals that had come when it was made
};

}  // namespace belfry
