#pragma once
// Internal to backend/cuda/toolkit.

#include <cuda_runtime_api.h>

namespace belfry::cuda {

/// Error when CUDA's runtime refused `call`, with CUDA's name for the reason.
void check(cudaError_t code, const char* call);

}  // namespace belfry::cuda
