#pragma once
// The text of an exception of any type.

#include <exception>
#include <string>

namespace belfry {

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
