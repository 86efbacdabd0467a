#pragma once
// The processes of a job that train together, usually one for each machine. MPI starts and connects
// them (framework/distribute/mpi); a process that was started alone is the only worker.

#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <new>
#include <optional>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

#include "belfry/framework/base/error.h"

namespace belfry {

class Communicator;
struct CommunicatorOptions;

/// The workers of this job as one of them sees them. All workers make the same calls in the same
/// order, each from one thread at a time, but for those that may come from any thread at any time.
///
/// Calls that wait for others throw Error when one of those does not come within the time-out, has
/// ended or has announced a failure; the message names it. After such an Error the job is over:
/// every further call that waits throws the same.
class Workers {
 public:
  virtual ~Workers() = default;

  virtual int count() const = 0;  ///< at least 1
  virtual int rank() const = 0;   ///< 0 .. count() - 1
  /// Whether this is the worker that writes checkpoints and logs: rank 0.
  bool is_chief() const { return rank() == 0; }
  virtual std::string describe() const = 0;  ///< "worker 1 of 3 on host b (Open MPI 4.1.4)"

  /// `all` becomes what each worker gave as `mine`, in the order of ranks: count() times the size
  /// of `mine`, which is the same everywhere. One small message to each other worker: cheap enough
  /// for every step.
  virtual void all_gather(std::span<const std::byte> mine, std::span<std::byte> all) = 0;
  /// The same for numbers or small structs.
  template <class T>
  std::vector<T> all_gather(const T& mine);
  /// `bytes` become the chief's, whatever their number. They pass from the chief to each worker.
  virtual void broadcast(std::vector<std::byte>& bytes) = 0;
  /// On the chief: what each worker gave, in the order of ranks; sizes may differ. Empty elsewhere.
  virtual std::vector<std::vector<std::byte>> gather(std::span<const std::byte> mine) = 0;
  /// Returns when all workers have come here.
  void barrier() { all_gather(std::span<const std::byte>(), std::span<std::byte>()); }

  /// A communicator whose members are the workers: this process is member rank(), and asks for no
  /// other. Sums are in the order of ranks whatever `options.kind` says. Operands are memory of the
  /// host.
  virtual std::shared_ptr<Communicator> communicator(const CommunicatorOptions& options) = 0;

  /// Tells the other workers that this one cannot go on: whoever waits for it, or will, throws
  /// Error at once, with the rank and the reason. What it has sent before still arrives. Does not
  /// throw.
  virtual void announce_failure(const std::string& reason) noexcept = 0;
  /// The same, with what `error` says behind `before` joined as the reason.
  template <class... Before>
  void announce_exception(const std::exception_ptr& error, const Before&... before) noexcept {
    std::string reason = "out of memory";  // so short a text needs none
    try {
      reason = concat(before..., what_of(error));
    } catch (const std::bad_alloc&) {
    }
    announce_failure(reason);
  }
  /// Throws Error when another worker has announced a failure. Does not wait. From any thread.
  virtual void check() {}
  /// A number for something that all workers do together from now on, the same for all of them.
  std::int64_t begin_work() { return ++works_; }
  /// Tells the other workers that this one was asked to stop that work. Neither waits nor throws.
  /// From any thread.
  virtual void ask_to_stop(std::int64_t work) noexcept { (void)work; }
  /// Whether another worker has said so of this work. Does not wait. From any thread.
  virtual bool is_asked_to_stop(std::int64_t work) noexcept { return (void)work, false; }
  /// For a worker that has waited in vain and does not know for whom. Announces this failure, then
  /// waits for `seconds`. The others hear of it and answer as they end; returned are the ranks of
  /// those that did not answer.
  virtual std::vector<int> silent_after_failure(const std::string& reason, double seconds) noexcept;

 private:
  std::int64_t works_ = 0;
};

/// Options of find_workers().
struct WorkerOptions {
  double timeout_seconds = 600;  ///< how long a call waits for the other workers
};

/// The workers of the job that this process belongs to; the same object each time, with the options
/// that were given last. Alone, without MPI, when nothing says that the process was started as one
/// of several. In a job all workers call it, and it waits for them without a limit; MPI ends with
/// the process, once all workers have ended. Error: it was started as one of several, but this
/// build lacks MPI; the environment variable TF_CONFIG (worker_role.h) contradicts the job, or
/// names several tasks while there is no job.
std::shared_ptr<Workers> find_workers(const std::optional<WorkerOptions>& options = {});
/// Whether TF_CONFIG makes this process the evaluator of a cluster, which does not train.
bool is_evaluator();
/// The folder that TF_CONFIG names for checkpoints; empty: none.
std::string model_dir_of_cluster();

/// Makes an implementation for jobs of several processes known; called by a static object of its
/// folder.
using WorkersFactory = std::function<std::shared_ptr<Workers>(const std::optional<WorkerOptions>&)>;
/// Registers a WorkersFactory.
struct WorkersRegistration {
  /// From any thread. The last one given counts.
  explicit WorkersRegistration(WorkersFactory factory);
};

/// A job of this process alone. find_workers() makes it; tests may.
std::shared_ptr<Workers> make_sole_worker();

template <class T>
std::vector<T> Workers::all_gather(const T& mine) {
  static_assert(std::is_trivially_copyable_v<T>);
  std::vector<T> all(count());
  all_gather(std::as_bytes(std::span(&mine, 1)), std::as_writable_bytes(std::span(all)));
  return all;
}

}  // namespace belfry
