#pragma once
// A set of messages under way.

#include "belfry/framework/distribute/mpi/job.h"

namespace belfry::mpi {

/// Messages that read and write `memory`. If they are not done when this object goes, the job keeps
/// the memory.
class Messages {
 public:
  /// `most`: how many there will be, so that nothing is allocated later.
  Messages(Job& job, Memory memory, std::size_t most);
  ~Messages();
  Messages(const Messages&) = delete;
  Messages& operator=(const Messages&) = delete;

  /// Error: more than 2 GiB in one message.
  void send(int to, int tag, const std::byte* data, std::size_t bytes) BELFRY_REQUIRES(mpi_mutex);
  void receive(int from, int tag, std::byte* data, std::size_t bytes) BELFRY_REQUIRES(mpi_mutex);

  /// Whether all have come and gone; they are then forgotten, and others may follow. Error: a
  /// message has not the size that was expected.
  bool done() BELFRY_REQUIRES(mpi_mutex);
  /// The ranks at the other end of those that are under way, each once, in order.
  std::vector<int> missing() const BELFRY_REQUIRES(mpi_mutex);

 private:
  struct Message {
    MPI_Request request;
    int peer;
    int bytes;
    bool incoming;
  };
  Message& add(int peer, std::size_t bytes, bool incoming) BELFRY_REQUIRES(mpi_mutex);
  bool test(Message& message) BELFRY_REQUIRES(mpi_mutex);

  Job& job_;
  Memory memory_;
  std::vector<Message> messages_ BELFRY_GUARDED_BY(mpi_mutex);
};

}  // namespace belfry::mpi
