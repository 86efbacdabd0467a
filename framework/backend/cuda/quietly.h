#pragma once
// The handling of CUDA's refusals in destructors. Internal to backend/cuda.

#include <exception>

namespace belfry::cuda {

/// Calls f(). Destructors have nobody to tell that it threw: a GPU that failed refuses every call,
/// and what is left on it goes with the process.
template <class F>
void quietly(F&& f) noexcept {
  try {
    f();
  } catch (const std::exception&) {
  }
}

}  // namespace belfry::cuda
