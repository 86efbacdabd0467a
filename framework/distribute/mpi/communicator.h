#pragma once
// Reductions over the workers of an MPI job.

#include "belfry/framework/backend/communicator.h"
#include "belfry/framework/distribute/mpi/job.h"

namespace belfry::mpi {

/// Members are the workers, `job.rank()` the only one in this process. Each worker receives its
/// share of every bucket from all others, sums in the order of ranks and sends the result back: the
/// bits are those of CrossDevice::shared in one process. What has arrived is taken further whenever
/// any reduction starts or is waited for. Every start() has a finish(), before the next.
std::shared_ptr<Communicator> make_communicator(std::shared_ptr<Job> job,
                                                const CommunicatorOptions& options);

}  // namespace belfry::mpi
