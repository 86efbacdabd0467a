#pragma once
// Kernels that do the work of several: found as kernels are, since their files are compiled only
// with CUDA or where GPUs are emulated. Internal to backend/cuda.

#include <memory>
#include <span>

#include "belfry/framework/backend/backend.h"

namespace belfry::cuda {

/// See Device::together(), of one kernel at least. Null for kernels that it does not know.
using Together = std::shared_ptr<Kernel> (*)(std::span<const std::shared_ptr<Kernel>> kernels);

/// A static object of this type in a kernel's file makes its function known.
struct TogetherRegistration {
  explicit TogetherRegistration(Together function);
};

/// By the first function that is known and knows these kernels; null where there is none.
std::shared_ptr<Kernel> together(std::span<const std::shared_ptr<Kernel>> kernels);

}  // namespace belfry::cuda
