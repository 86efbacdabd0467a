#pragma once
// Diagnostics. Everything Belfry has to say goes to stderr through one sink that a host may
// replace.

#include <exception>
#include <functional>
#include <new>
#include <string>
#include <string_view>

#include "belfry/framework/base/text.h"

namespace belfry {

/// How grave a line is; write_log_line() marks the last two.
enum class LogLevel { info, warning, error };

/// Receives one line, without its newline. Called under a lock: never from two threads at once. The
/// answer to a signal comes from a thread of Belfry's own: a sink must not wait for other threads.
/// A sink that throws loses no line: it goes to stderr. The exception ends there, since one that
/// leaves a thread ends the process.
using LogSink = std::function<void(LogLevel, std::string_view line)>;

/// Replaces the sink; an empty one restores the default, which writes to stderr. Thread-safe.
/// Returns the sink that was in place (empty for the default).
LogSink set_log_sink(LogSink sink);

/// The default sink: writes the local time, "warning: " or "error: " where it is one, the line and
/// a newline to stderr: "14:03:21 warning: model_dir: none was given".
void write_log_line(LogLevel level, std::string_view line);

/// Hands a line to the sink. Thread-safe.
void log_line(LogLevel level, std::string_view line) noexcept;

namespace detail {

/// Says that a line of this level is lost.
void log_lost(LogLevel level) noexcept;

template <class... Args>
void log_joined(LogLevel level, const Args&... args) {
  try {
    log_line(level, concat(args...));
  } catch (const std::bad_alloc&) {
    log_lost(level);
  }
}

}  // namespace detail

/// Hands the arguments, joined to a line of this level, to the sink. Thread-safe. Where there is no
/// memory for the line, a fixed one takes its place.
///@{
template <class... Args>
void log_info(const Args&... args) {
  detail::log_joined(LogLevel::info, args...);
}
template <class... Args>
void log_warning(const Args&... args) {
  detail::log_joined(LogLevel::warning, args...);
}
///@}

/// Hands "<what>: <what `error` says>" to the sink as an error. For handlers, which have another
/// exception to tell of.
void log_failure(std::string_view what, const std::exception_ptr& error) noexcept;

}  // namespace belfry
