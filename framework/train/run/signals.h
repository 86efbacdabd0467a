#pragma once
// SIGINT and SIGTERM as a wish to stop.

#include <csignal>
#include <stop_token>

namespace belfry {

/// While it lives, the first SIGINT or SIGTERM is noted instead of ending the process, and restores
/// what was in place before, so that a second one does. A handler that somebody has placed since
/// stays; if it passes signals on to the one that it found, they are all noted. Guards that live
/// side by side, one for each training of a process, all hear of it. Made and destroyed on any
/// thread.
class SignalGuard {
 public:
  /// Error: there is no thread to wait for signals on.
  SignalGuard();
  ~SignalGuard();
  SignalGuard(const SignalGuard&) = delete;
  SignalGuard& operator=(const SignalGuard&) = delete;

  /// "SIGINT", "SIGTERM", or null when none came.
  const char* received() const;
  /// Stop is requested, in a thread of its own, when one came.
  std::stop_token stop() const { return stop_.get_token(); }

 private:
  friend class SignalWatch;
  int before_;  // signals that had come when it was made
  std::stop_source stop_;
};

}  // namespace belfry
