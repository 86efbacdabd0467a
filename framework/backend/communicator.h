#pragma once
// Reductions over the members of a group: towers of a process, processes of a job. Part of the
// contract of a device, see backend.h.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "belfry/framework/base/policies.h"
#include "belfry/framework/tensor/shape.h"

namespace belfry {

class Stream;

enum class ReduceOp : std::uint8_t {
  sum,
  max,
  first,  ///< what member 0 has: a broadcast
};

/// `count` elements that take part in a reduction. Those of one bucket need not lie side by side.
struct Segment {
  void* data = nullptr;
  std::int64_t count = 0;
};

/// Operands of a reduction, at addresses that stay but for Collective::move().
struct Bucket {
  std::string name;  ///< for messages: "bucket 2 of adam"
  std::vector<Segment> segments;
  DType dtype = DType::f32;
  ReduceOp op = ReduceOp::sum;
};

/// A reduction with its operands, prepared once and run every step: start() as soon as the operands
/// are there, finish() before the result is read. What happens in between is hidden behind the
/// reduction, and the reduction behind it.
class Collective {
 public:
  virtual ~Collective() = default;
  /// The operands are those that `stream` has written once it has done what was enqueued so far.
  /// Does not wait for other members, but that the first time on GPUs does: NCCL connects them
  /// then.
  virtual void start(Stream& stream) = 0;
  /// Work that is enqueued on `stream` from now on reads the result. Error, after the time-out: a
  /// member did not take part; it is named, with the bucket.
  virtual void finish(Stream& stream) = 0;
  /// The operands, as many and as long as before, are here from now on. To be called while no
  /// reduction of the communicator is under way.
  virtual void move(std::span<const Segment> segments) = 0;
  /// Whether start() and finish() may be part of a captured step.
  virtual bool can_be_captured() const { return false; }
};

/// A group of members that reduce together: an NCCL communicator, shared memory on a CPU, processes
/// of an MPI job. All members start the same reductions in the same order, each from a thread of
/// its own. Collectives must not outlive their communicator, and stay until no member is in a
/// finish() of theirs.
class Communicator {
 public:
  virtual ~Communicator() = default;
  virtual int size() const = 0;
  /// In place, summed in a fixed order: all members get the same bits, in every run. On GPUs
  /// NCCL chooses the order, by how they are connected, and promises nothing about other runs.
  /// While none of its reductions is under way.
  virtual std::unique_ptr<Collective> all_reduce(int member, Bucket bucket) = 0;
  /// For a member whose host waits for a stream with reductions on it, called again and again:
  /// throws Error when one has failed, or has been under way for longer than the time-out.
  virtual void check(int member) { (void)member; }
  /// Ends what is under way: every member that waits, or will, throws Error with this reason. For
  /// the member that cannot go on. From any thread. The communicator is of no further use, as after
  /// a time-out.
  virtual void abort(const std::string& reason) = 0;
};

/// The other processes of a job whose members belong to a communicator too. All of them make theirs
/// in the same order.
struct OtherProcesses {
  int first = 0;    ///< the number, among all members, of this process's first one
  int members = 0;  ///< of all processes; 0: there are no other processes
  /// `bytes` become those of the process that has member 0. Called while the communicator is made.
  std::function<void(std::vector<std::byte>& bytes)> broadcast = {};
  /// Throws Error when one of them has said that it cannot go on.
  std::function<void()> check = {};
  /// After a failure, which is told to the others as `reason`: names of the processes of which
  /// nothing is heard; empty where there is none. May wait some seconds for their words.
  std::function<std::string(const std::string& reason)> silent = {};
};

struct CommunicatorOptions {
  CrossDevice kind = CrossDevice::shared;
  double timeout_seconds = 600;  ///< how long finish() waits for other members
  OtherProcesses others = {};    ///< for devices that reach those of other processes themselves
};

}  // namespace belfry
