#pragma once
// Reductions over several GPUs, of this process or of a job. Internal to backend/cuda.

#include <memory>
#include <span>

#include "belfry/framework/backend/backend.h"
#include "belfry/framework/backend/cuda/api.h"

namespace belfry::cuda {

/// A GPU as a member of a communicator. The device must outlive it.
struct Member {
  Device* device = nullptr;
  int index = 0;  ///< as CUDA counts
};

/// Makes a communicator of members that are different GPUs, and of those of the other processes.
using CommunicatorFactory = std::shared_ptr<Communicator> (*)(Api& api,
                                                              std::span<const Member> members,
                                                              const CommunicatorOptions& options);

/// A static object of this type, in the folder that calls NCCL, makes it known.
struct CommunicatorRegistration {
  explicit CommunicatorRegistration(CommunicatorFactory factory);
};

/// Error: members are not different GPUs, or this build has no NCCL.
std::shared_ptr<Communicator> make_communicator(Api& api, std::span<const Member> members,
                                                const CommunicatorOptions& options);

/// The interface to NCCL that a communicator needs. It lets one thread in at a time.
class Reducer {
 public:
  virtual ~Reducer() = default;
  /// Begins to enqueue the reduction of a bucket, in place, on a stream of the member's GPU, which
  /// is the calling thread's current one. Does not wait for other members. Error: it cannot.
  virtual void begin(int member, const Bucket& bucket, Stream& stream) = 0;
  /// Whether all that was begun is on its stream. The first time, the other members must come.
  /// Error: a reduction of this member has failed, maybe long after it was enqueued.
  virtual bool enqueued(int member) = 0;
  /// Ends what runs on all GPUs; its results are nothing. The last call, from a thread of its own:
  /// may wait until no captured step holds reductions.
  virtual void abort() = 0;
};

/// A communicator with streams of its own, one a member. Time-outs are noticed by check(): members
/// count on their GPUs how many reductions of a bucket they have begun and done, so that it sees
/// what a replayed step does. An aborted one waits at its end until the reducer's abort() is done,
/// for a minute at most. How sums are ordered is the reducer's choice, not the options'.
std::shared_ptr<Communicator> make_communicator(std::span<const Member> members,
                                                std::unique_ptr<Reducer> reducer,
                                                const CommunicatorOptions& options);

}  // namespace belfry::cuda
