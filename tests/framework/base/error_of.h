#pragma once

#include <string>

#include "belfry/framework/base/error.h"

namespace belfry {

/// The message of the Error that f() throws.
template <class F>
std::string error_of(F&& f) {
  try {
    f();
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

}  // namespace belfry
