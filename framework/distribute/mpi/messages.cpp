#include "belfry/framework/distribute/mpi/messages.h"

#include <algorithm>
#include <limits>

#include "belfry/framework/base/error.h"

namespace belfry::mpi {

Messages::Messages(Job& job, Memory memory, std::size_t most)
    : job_(job), memory_(std::move(memory)) {
  messages_.reserve(most);
}

Messages::~Messages() {
  if (messages_.empty()) return;
  MutexLock lock(mpi_mutex);
  job_.keep(std::move(memory_));
}

Messages::Message& Messages::add(int peer, std::size_t bytes, bool incoming) {
  require(bytes <= std::size_t{std::numeric_limits<int>::max()}, "MPI: a message of ",
          bytes_text(bytes), ", at most 2 GiB fit; use smaller buckets");
  return messages_.emplace_back(Message{MPI_REQUEST_NULL, peer, static_cast<int>(bytes), incoming});
}

void Messages::send(int to, int tag, const std::byte* data, std::size_t bytes) {
  Message& m = add(to, bytes, false);
  check(MPI_Isend(data, m.bytes, MPI_BYTE, to, tag, job_.comm(), &m.request), job_.name(to));
}

void Messages::receive(int from, int tag, std::byte* data, std::size_t bytes) {
  Message& m = add(from, bytes, true);
  check(MPI_Irecv(data, m.bytes, MPI_BYTE, from, tag, job_.comm(), &m.request), job_.name(from));
}

bool Messages::test(Message& m) {
  int done = 0, bytes = 0;
  MPI_Status status;
  int code = MPI_Test(&m.request, &done, &status);
  if (code == MPI_SUCCESS && !done) return false;
  if (code == MPI_SUCCESS && m.incoming) MPI_Get_count(&status, MPI_BYTE, &bytes);
  int kind = MPI_SUCCESS;
  if (code != MPI_SUCCESS) MPI_Error_class(code, &kind);
  bool too_long = kind == MPI_ERR_TRUNCATE;
  if (!too_long) check(code, job_.name(m.peer));
  require(!too_long && (!m.incoming || bytes == m.bytes), job_.name(m.peer), " sent ",
          too_long ? "more" : text(bytes), " bytes where ", job_.name(job_.rank()), " expected ",
          m.bytes, "; all workers must make the same calls in the same order");
  return true;
}

bool Messages::done() {
  for (std::size_t i = 0; i < messages_.size();) {
    if (!test(messages_[i])) {
      ++i;
    } else {
      messages_[i] = messages_.back();
      messages_.pop_back();
    }
  }
  return messages_.empty();
}

std::vector<int> Messages::missing() const {
  std::vector<int> ranks;
  for (const Message& m : messages_) ranks.push_back(m.peer);
  std::sort(ranks.begin(), ranks.end());
  ranks.erase(std::unique(ranks.begin(), ranks.end()), ranks.end());
  return ranks;
}

}  // namespace belfry::mpi
