#pragma once
// A GPU's limits, from what CUDA says of it. Internal to backend/cuda.

#include <optional>

#include "belfry/framework/backend/backend.h"
#include "belfry/framework/backend/cuda/api.h"

namespace belfry::cuda {

/// Nine tenths of the rate of the memory's pins, which a copy on an H100 reaches, and three
/// quarters of what the multiprocessors do at their highest clock, which their power does not let
/// them keep: a product of 8192 of 16-bit floats reaches 0.67 to 0.75 there. None where CUDA does
/// not say.
std::optional<DeviceLimits> limits_of(const Properties& gpu);

}  // namespace belfry::cuda
