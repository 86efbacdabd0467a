#pragma once
// This process in its MPI job: starting and ending MPI, waiting with a time-out, and the news that
// another worker cannot go on.

#include <mpi.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "belfry/framework/base/error.h"
#include "belfry/framework/base/mutex.h"

namespace belfry::mpi {

/// Throws Error with MPI's text when `code` is one of its errors.
void check(int code, std::string_view what);

/// Tags of messages. Each reduction under way has three of its own, from `first_of_reductions` on.
enum Tag : int { words, gathered, broadcast, collected, first_of_reductions };

/// Memory that messages read and write, kept by each of them as long as MPI may touch it.
using Memory = std::shared_ptr<std::vector<std::byte>>;
Memory make_memory(std::size_t bytes);

/// MPI allows calls from any thread, but one at a time: whoever calls it holds this.
inline Mutex mpi_mutex;

/// A worker's last word is the last message that it sends: that it has ended, or that it failed and
/// why. Before it there may be words that it was asked to stop. Every worker listens for
/// everybody's whenever it waits, or asks for them.
class Job {
 public:
  /// Starts MPI unless the host has; waits without a limit until all workers do. From then on a
  /// worker of several ignores SIGPIPE, unless the host has said what is to be done. Error: MPI
  /// allows no calls from several threads, or the host has ended it.
  Job();
  ~Job() { end(); }
  Job(const Job&) = delete;
  Job& operator=(const Job&) = delete;

  int count() const { return count_; }
  int rank() const { return rank_; }
  MPI_Comm comm() const { return comm_; }
  std::string name(int rank) const;  ///< "worker 1 of 3"
  std::string describe() const;
  /// How long the destructor waits, and functions of Workers do.
  double timeout_seconds() const { return timeout_seconds_; }
  void set_timeout_seconds(double seconds) { timeout_seconds_ = seconds; }

  struct Wait {
    std::string_view what;  ///< for messages: "all_gather"
    double timeout_seconds;
    std::function<bool()> done;  ///< called with mpi_mutex held
    /// The ranks that are waited for; called likewise.
    std::function<std::vector<int>()> missing;
  };
  /// Returns when done(), also after another worker's failure. Error: this worker has announced a
  /// failure; or it is not done, and another one has, or a worker that is waited for has ended, or
  /// the time is over.
  void wait(const Wait& wait);

  /// Says that this worker has ended, and ends MPI if this object started it, when all workers
  /// have. Not after a failure or the time-out: then MPI_Finalize could wait for workers that are
  /// gone.
  void end() noexcept;

  /// Ends this worker's part: its waits throw `reason`, those of the others for what has not come
  /// name it as well.
  void announce(const std::string& reason) noexcept;
  /// Throws Error when a failure was announced. Does not wait.
  void check_others();
  /// Says that this worker was asked to stop a piece of work, and whether another one has said so.
  void ask_to_stop(std::int64_t work) noexcept;
  bool is_asked_to_stop(std::int64_t work) noexcept;
  /// The ranks of which no last word is heard within so many seconds.
  std::vector<int> silent(double seconds) noexcept;

  /// Throws Error when this worker has announced a failure: it sends nothing more, which others
  /// would take for something else.
  void check_own() const BELFRY_REQUIRES(mpi_mutex) {
    if (said_) require(failure_.empty(), failure_);
  }
  /// Whether the job is over.
  bool failed() const BELFRY_REQUIRES(mpi_mutex) { return !failure_.empty(); }

  /// The first of `many` tags for a communicator, the same in all workers that make theirs in the
  /// same order. They come round again when MPI has no more.
  int next_tags(int many) BELFRY_REQUIRES(mpi_mutex);
  /// Keeps the memory of messages that may still be under way, until the process ends.
  void keep(Memory memory) BELFRY_REQUIRES(mpi_mutex) { kept_.push_back(std::move(memory)); }

 private:
  // A fixed size, so that it may be received before it is known.
  struct Word {
    // passed_on: the sender cannot go on for what another worker has said.
    enum Kind : std::int64_t { asked_to_stop, ended, failed, passed_on } kind;
    std::int64_t work;  // that is to stop
    char reason[1008];  // of a failure
  };

  bool word_is_out() BELFRY_REQUIRES(mpi_mutex);
  void listen() BELFRY_REQUIRES(mpi_mutex);
  void listen_to(int rank) BELFRY_REQUIRES(mpi_mutex);
  void hear() BELFRY_REQUIRES(mpi_mutex);
  void say_last_word(bool failed, const std::string& reason) BELFRY_REQUIRES(mpi_mutex);
  void give_up(const std::string& reason) BELFRY_REQUIRES(mpi_mutex);
  bool is_done(const Wait& wait) const BELFRY_REQUIRES(mpi_mutex);
  void check_there(const std::vector<int>& ranks, std::string_view what) const
      BELFRY_REQUIRES(mpi_mutex);

  MPI_Comm comm_ = MPI_COMM_NULL;
  int count_ = 0, rank_ = 0, last_tag_ = 0;
  bool started_here_ = false;
  std::atomic<double> timeout_seconds_{600};
  int next_tag_ BELFRY_GUARDED_BY(mpi_mutex) = first_of_reductions;
  // By rank; this worker's is the one it says.
  std::vector<Word> words_ BELFRY_GUARDED_BY(mpi_mutex);
  std::vector<MPI_Request> listening_ BELFRY_GUARDED_BY(mpi_mutex);  // by rank
  std::vector<MPI_Request> saying_ BELFRY_GUARDED_BY(mpi_mutex);
  std::vector<bool> ended_ BELFRY_GUARDED_BY(mpi_mutex);  // by rank
  std::vector<int> heard_ BELFRY_GUARDED_BY(mpi_mutex);   // of MPI_Testsome
  std::vector<MPI_Status> statuses_ BELFRY_GUARDED_BY(mpi_mutex);
  int others_there_ BELFRY_GUARDED_BY(mpi_mutex) = 0;
  bool said_ BELFRY_GUARDED_BY(mpi_mutex) = false;
  bool over_ BELFRY_GUARDED_BY(mpi_mutex) = false;
  // Works that other workers were asked to stop.
  std::set<std::int64_t> to_stop_ BELFRY_GUARDED_BY(mpi_mutex);
  std::string failure_ BELFRY_GUARDED_BY(mpi_mutex);
  bool heard_failure_ BELFRY_GUARDED_BY(mpi_mutex) = false;  // it is that of another worker
  std::vector<Memory> kept_ BELFRY_GUARDED_BY(mpi_mutex);
};

}  // namespace belfry::mpi
