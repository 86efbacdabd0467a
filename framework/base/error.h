#pragma once
// Errors. Two words for two faults: require() for the caller's mistakes, ensure() for ours.
// Both throw belfry::Error; the library never calls abort or exit.

#include <exception>
#include <string>
#include <utility>

#include "belfry/framework/base/text.h"

namespace belfry {

/// A description of what went wrong, then where, innermost place first:
///   conv2d: input has 3 channels but the filter expects 1 (at discriminator/down1)
class Error : public std::exception {
 public:
  /// The description; places follow by add_context().
  explicit Error(std::string message) : message_(std::move(message)) {}
  const char* what() const noexcept override { return message_.c_str(); }  ///< with all places

  /// Appends " (<where>)": a scope path, a file and offset, the step. Returns itself. A handler
  /// adds it and writes `throw;`, so that the exception stays of its class.
  Error& add_context(const std::string& where) {
    message_ += " (" + where + ")";
    return *this;
  }

 private:
  std::string message_;
};

/// A signal has ended what a program was doing; what is to be saved has been saved.
class Interrupted : public Error {
 public:
  /// `signal` is SIGINT or SIGTERM.
  Interrupted(std::string message, int signal) : Error(std::move(message)), signal_(signal) {}
  int signal() const { return signal_; }  ///< SIGINT or SIGTERM
  /// The exit status that a shell expects of the program then: 130 for SIGINT.
  int exit_status() const { return 128 + signal_; }

 private:
  int signal_;
};

/// Throws Error with the arguments joined as its message.
template <class... Args>
[[noreturn, gnu::cold, gnu::noinline]] void fail(const Args&... args) {
  throw Error(concat(args...));
}

/// The caller's fault: throws Error unless `condition` holds. The message says what was expected,
/// what came, and the remedy; numbers always in the text.
template <class Condition, class... Args>
void require(const Condition& condition, const Args&... args) {
  if (!static_cast<bool>(condition)) [[unlikely]]
    fail(args...);
}

/// Our fault: throws Error marked as a bug in Belfry unless `condition` holds.
template <class Condition, class... Args>
void ensure(const Condition& condition, const Args&... args) {
  if (!static_cast<bool>(condition)) [[unlikely]]
    fail("internal error in Belfry, please report it: ", args...);
}

/// Runs `body`; an Error that leaves it carries `where` as one more place.
template <class Body>
decltype(auto) with_context(const std::string& where, Body&& body) {
  try {
    return std::forward<Body>(body)();
  } catch (Error& error) {
    error.add_context(where);
    throw;
  }
}

/// Returns what() of a std::exception, and "an unknown exception" for all others.
inline std::string what_of(const std::exception_ptr& error) {
  try {
    std::rethrow_exception(error);
  } catch (const std::exception& e) {
    return e.what();
  } catch (...) {
    return "an unknown exception";
  }
}

}  // namespace belfry
