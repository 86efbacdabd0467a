#pragma once
// The text of the headers that compiled kernels include, which goes into the program so that it
// needs no source tree. Internal to backend/cuda/toolkit.

#include <span>

namespace belfry::cuda {

struct DeviceHeader {
  const char* name;  ///< as it is included
  const char* text;
};
/// nvrtc/prelude.h is the first.
std::span<const DeviceHeader> device_headers();

}  // namespace belfry::cuda
