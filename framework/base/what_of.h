#pragma once
// What went wrong, where any exception may come.

#include <exception>
#include <string>

namespace belfry {

/// What an exception says; "an unknown exception" for one that is no std::exception.
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
