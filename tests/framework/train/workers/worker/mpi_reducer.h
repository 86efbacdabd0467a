#pragma once
// Reductions over emulated GPUs of several processes, one in each.

namespace belfry {

/// From now on emulated GPUs reduce through MPI, one in each worker.
void emulate_gpus_of_several_workers();

}  // namespace belfry
