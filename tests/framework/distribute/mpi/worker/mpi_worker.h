#pragma once
// The scenarios that the workers of a test run. Each function is one; the text that it returns is
// compared by the test, and an Error that leaves it is returned as its text.

#include <string>

#include "../../../base/error_of.h"
#include "belfry/framework/distribute/workers.h"

namespace belfry {

/// The files that workers write when they are through, and how they wait without MPI: a failure in
/// one worker may else end the barrier of another.
struct Job {
  std::string folder;
  void wait_until_through(const std::vector<int>& ranks) const;
  void meet(int rank) const;  ///< with all of three workers
  void record(int rank, const std::string& text) const;
};

std::string exchange(const Job& job);   ///< all_gather, broadcast, gather, barrier
std::string reduce(const Job& job);     ///< many buckets in flight, compared with one process
std::string towers(const Job& job);     ///< two local towers in each worker
std::string mismatch(const Job& job);   ///< the last worker has a bucket of another size
std::string absent(const Job& job);     ///< worker 1 does not come to a reduction
std::string killed(const Job& job);     ///< worker 1 is killed
std::string announce(const Job& job);   ///< the last worker announces a failure
std::string part(const Job& job);       ///< the chief fails after its part of a broadcast
std::string leave(const Job& job);      ///< worker 1 ends early
std::string different(const Job& job);  ///< the last worker gathers more bytes than the others
std::string segments(const Job& job);   ///< as many elements and segments, of other sizes
std::string names(const Job& job);      ///< buckets of other names
std::string exits(const Job& job);      ///< worker 1 ends by exit()
std::string asks(const Job& job);       ///< find_workers() without options

}  // namespace belfry
