#pragma once
// SIGINT and SIGTERM as a wish to stop.

#include <csignal>
#include <functional>
#include <stop_token>
#include <string_view>

namespace belfry {

/// While it lives, the first SIGINT or SIGTERM is noted instead of ending the process, and restores
/// what was in place before, so that a second one does. A handler that somebody has placed since
/// stays; if it passes signals on to the one that it found, they are all noted. Guards that live
/// side by side, one for each training of a process, all hear of it. Made and destroyed on any
/// thread.
class SignalGuard {
 public:
  /// `heard`: called once with the signal's name, within milliseconds and in a thread of its own;
  /// it must wait for nobody, and what it throws is lost. Error: there is no thread to wait for
  /// signals on.
  explicit SignalGuard(std::function<void(const char* signal)> heard = {});
  ~SignalGuard();
  SignalGuard(const SignalGuard&) = delete;
  SignalGuard& operator=(const SignalGuard&) = delete;

  /// Whether there is one in this process.
  static bool any();
  /// SIGINT, SIGTERM, or 0 when none came.
  int signal() const;
  /// Its name; null when none came.
  const char* received() const;
  /// Stop is requested, in a thread of its own, when one came.
  std::stop_token stop() const { return stop_.get_token(); }

 private:
  friend class SignalWatch;
  int before_;                              // signals that had come when it was made
  std::function<void(const char*)> heard_;  // empty once it was called
  std::stop_source stop_;
};

std::string_view signal_name(int signal);  ///< "SIGINT" or "SIGTERM"

}  // namespace belfry
