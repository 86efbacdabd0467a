#pragma once
// The interface of devices, for those who write one: memory, streams, kernels, reductions.

#include "belfry/framework/backend/backend.h"
#include "belfry/framework/backend/communicator.h"
#include "belfry/framework/ops.h"
