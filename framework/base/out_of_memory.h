#pragma once
// The Error for host memory, or one more open file, that is not there.

#include "belfry/framework/base/error.h"

namespace belfry {

/// An Error that says nothing against the data: who tries something else where data are bad lets it
/// pass.
class OutOfMemory : public Error {
 public:
  using Error::Error;
};

}  // namespace belfry
