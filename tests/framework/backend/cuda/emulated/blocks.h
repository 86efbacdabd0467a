#pragma once
// Runs the blocks of a kernel on the host.

#include <functional>

#include "belfry/framework/backend/cuda/launch.h"

namespace belfry::cuda::emulated {

/// Calls `kernel` once for each thread of each block, the threads of a block taking turns wherever
/// they wait for each other; either those of block 0 wait, or none do. Error: a thread has ended
/// while others of its block, or warp, wait for it. For one host thread at a time.
void run_blocks(const LaunchShape& shape, const std::function<void()>& kernel);

}  // namespace belfry::cuda::emulated
