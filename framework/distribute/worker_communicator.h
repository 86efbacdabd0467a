#pragma once
// Reductions over the towers of all workers.

#include <memory>

#include "belfry/framework/distribute/workers.h"

namespace belfry {

/// A communicator for the towers of this process; what it reduces goes over the towers of all
/// workers. Member i is local tower i. `local` joins them and may be null for one tower.
///
/// The towers of a worker reduce first, then the thread of tower 0 reduces over the workers while
/// the others wait, then tower 0's result goes to all. With one tower a worker, the sum is in the
/// order of ranks, the same bits as with that many towers in one process; with more, the sums are
/// grouped by worker, and the last bits may differ from other groupings, but not between workers or
/// runs.
///
/// With one tower start() already starts the messages. With several, those between workers start in
/// finish(). The time-out of `local` should be longer than that of `options`, twice say: towers
/// that wait for tower 0 would else not hear which worker it missed.
std::shared_ptr<Communicator> make_worker_communicator(std::shared_ptr<Communicator> local,
                                                       Workers& workers,
                                                       const CommunicatorOptions& options);

}  // namespace belfry
