#pragma once
// GPUs as devices: memory, streams, events and captured steps. Internal to backend/cuda.

#include <memory>

#include "belfry/framework/backend/backend.h"
#include "belfry/framework/backend/cuda/api.h"

namespace belfry::cuda {

/// GPU `index` as CUDA counts them. Touches no other. `api` must outlive it. Error: there is no
/// such GPU.
std::shared_ptr<Device> make_device(Api& api, int index);

/// The devices that CUDA finds.
DevicesPresent devices_present(Api& api);

}  // namespace belfry::cuda
