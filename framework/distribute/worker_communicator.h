#pragma once
// Reductions over the towers of all workers.

#include <memory>

#include "belfry/framework/backend/communicator.h"
#include "belfry/framework/distribute/workers.h"

namespace belfry {

/// Communicators that join the towers of this process; none for one tower. Reductions within the
/// worker finish while later ones have started, at other moments in each tower: each of the two
/// kinds has an order of its own.
struct LocalCommunicators {
  std::shared_ptr<Communicator> reduce, spread;
};

/// A communicator for the towers of this process; what it reduces goes over the towers of all
/// workers. Member i is local tower i.
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
std::shared_ptr<Communicator> make_worker_communicator(LocalCommunicators local, Workers& workers,
                                                       const CommunicatorOptions& options);

}  // namespace belfry
