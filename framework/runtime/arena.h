#pragma once
// The memory in which plans compute. Internal to runtime/.

#include "belfry/framework/backend/backend.h"

namespace belfry {

/// One piece of device memory for all executables of a stream, of which one runs at a time: as
/// large as the largest of them needs, or once needed. Nothing in it outlives a step. Used by one
/// thread at a time; other devices of a tower write what they send into it while a step runs.
class Arena {
 public:
  explicit Arena(Device& device) : device_(device) {}

  /// Makes it at least so large. Where it grows it waits for `stream` and is at another address
  /// from then on: who uses it reserves again before each step, and looks where it is. Error: the
  /// device has not that much; the arena is as large as before, or empty where even that is gone.
  void reserve(Bytes size, Stream& stream);

  std::byte* data() const { return memory_.data(); }
  Bytes size() const { return memory_.size(); }

 private:
  Device& device_;
  DeviceMemory memory_;
};

inline void Arena::reserve(Bytes size, Stream& stream) {
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
