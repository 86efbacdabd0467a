#pragma once
// Internal to backend/cuda.

#include "belfry/framework/backend/cuda/api.h"

namespace belfry::cuda {

/// CUDA's runtime, behind the devices "cuda:0", "cuda:1", ...
Api& runtime_api();

}  // namespace belfry::cuda
