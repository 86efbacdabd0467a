#include "belfry/framework/runtime/arena.h"

namespace belfry {

void Arena::reserve(Bytes size, Stream& stream) {
  if (memory_.data() && size.count <= memory_.size().count) return;
  Bytes before = memory_.size();
  stream.synchronize();
  // The old piece goes first: there may be no room for both.
  memory_ = {};
  try {
    memory_ = device_.allocate(size, "the step's arena");
  } catch (const Error&) {
    if (before.count > 0) memory_ = device_.allocate(before, "the step's arena");
    throw;
  }
}

}  // namespace belfry
