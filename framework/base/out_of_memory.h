#pragma once
// The Error for memory of the host or a device, or one more open file, that is not there.

#include <new>

#include "belfry/framework/base/error.h"

namespace belfry {

/// An Error that says nothing against the data: whoever leaves bad data out must not catch it. What
/// the standard library finds no memory for is a std::bad_alloc, which is no Error.
class OutOfMemory : public Error {
 public:
  using Error::Error;
};

/// Within a handler: whether the exception in flight is an OutOfMemory or std::bad_alloc.
inline bool is_shortage() {
  try {
    throw;
  } catch (const OutOfMemory&) {
    return true;
  } catch (const std::bad_alloc&) {
    return true;
  } catch (...) {
    return false;
  }
}

}  // namespace belfry
