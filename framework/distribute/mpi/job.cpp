#include "belfry/framework/distribute/mpi/job.h"

#include <signal.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <thread>
#include <utility>

#include "belfry/framework/base/error.h"

namespace belfry::mpi {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

// The others are usually microseconds away; after a while a core is worth more than that.
void pause(double waited_seconds) {
  if (waited_seconds < 2e-3)
    std::this_thread::yield();
  else
    std::this_thread::sleep_for(std::chrono::microseconds(waited_seconds < 1 ? 50 : 500));
}

std::string library_version() {
  char version[MPI_MAX_LIBRARY_VERSION_STRING];
  int length = 0;
  MPI_Get_library_version(version, &length);
  std::string all(version, length);
  return all.substr(0, all.find_first_of(",\n"));
}

std::string processor() {
  char name[MPI_MAX_PROCESSOR_NAME];
  int length = 0;
  MPI_Get_processor_name(name, &length);
  return std::string(name, length);
}

// MPI writes to connections that another worker may have left. The signal that comes of it would
// end this process without a word; a host that handles it has said what it wants.
void ignore_broken_connections() {
  struct sigaction action {};
  if (sigaction(SIGPIPE, nullptr, &action) == 0 && action.sa_handler == SIG_DFL)
    signal(SIGPIPE, SIG_IGN);
}

// Open MPI 4 looks for news of its connections by TCP until there are none, and one that broke can
// have news for ever. It does so within the calls of MPI, which would then not return, and no
// time-out be seen, unless a thread of its own does.
void leave_connections_to_a_thread() {
  constexpr int overwrite = 0;  // who has set it knows better
  setenv("OMPI_MCA_btl_tcp_progress_thread", "1", overwrite);
}

}  // namespace

void check(int code, std::string_view what) {
  if (code == MPI_SUCCESS) return;
  char message[MPI_MAX_ERROR_STRING];
  int length = 0;
  MPI_Error_string(code, message, &length);
  fail(what, ": ", std::string_view(message, length));
}

Memory make_memory(std::size_t bytes) { return std::make_shared<std::vector<std::byte>>(bytes); }

Job::Job() {
  int running = 0, over = 0, level = MPI_THREAD_SINGLE, known = 0;
  check(MPI_Initialized(&running), "MPI_Initialized");
  check(MPI_Finalized(&over), "MPI_Finalized");
  require(!over, "MPI: this process has ended it already; look for workers before MPI_Finalize");
  started_here_ = !running;
  if (running) {
    check(MPI_Query_thread(&level), "MPI_Query_thread");
  } else {
    leave_connections_to_a_thread();
    check(MPI_Init_thread(nullptr, nullptr, MPI_THREAD_SERIALIZED, &level), "MPI_Init_thread");
  }
  require(level >= MPI_THREAD_SERIALIZED,
          "MPI: it was started without support for threads; ask for MPI_THREAD_SERIALIZED");
  check(MPI_Comm_dup(MPI_COMM_WORLD, &comm_), "MPI_Comm_dup");
  check(MPI_Comm_set_errhandler(comm_, MPI_ERRORS_RETURN), "MPI_Comm_set_errhandler");
  MPI_Comm_size(comm_, &count_);
  MPI_Comm_rank(comm_, &rank_);
  if (count_ > 1) ignore_broken_connections();
  const int* last_tag = nullptr;
  check(MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_TAG_UB, &last_tag, &known), "MPI_TAG_UB");
  last_tag_ = known ? *last_tag : 32767;
  listen();
}

void Job::end() noexcept {
  try {
    MutexLock lock(mpi_mutex);
    int finalized = 0;
    MPI_Finalized(&finalized);
    if (finalized || std::exchange(over_, true)) return;
    say_last_word(!failure_.empty(), failure_);
    // Whoever still works may yet fail, and leave without MPI_Finalize.
    auto start = Clock::now();
    for (hear(); failure_.empty() && (others_there_ > 0 || !word_is_out()); hear()) {
      double waited = seconds_since(start);
      // Whoever is late may be gone, and MPI_Finalize would wait for it for ever.
      if (waited > timeout_seconds_) return;
      lock.unlock();
      pause(waited);
      lock.lock();
    }
    if (failure_.empty() && started_here_) MPI_Finalize();
  } catch (const std::exception&) {
    // A worker that is gone: as after a failure.
  }
}

bool Job::word_is_out() {
  int out = 0;
  check(MPI_Testall(count_, saying_.data(), &out, MPI_STATUSES_IGNORE), "MPI_Testall");
  return out != 0;
}

std::string Job::name(int rank) const { return concat("worker ", rank, " of ", count_); }

std::string Job::describe() const {
  return concat(name(rank_), " on host ", processor(), " (", library_version(), ")");
}

void Job::wait(const Wait& wait) {
  auto start = Clock::now();
  for (;;) {
    double waited = seconds_since(start);
    {
      MutexLock lock(mpi_mutex);
      require(!over_, wait.what, ": this worker has ended");
      hear();
      try {
        if (is_done(wait)) return;
      } catch (const Error& error) {
        give_up(error.what());
        throw;
      }
      if (waited > wait.timeout_seconds) {
        std::vector<std::string> late;
        for (int rank : wait.missing()) late.push_back(name(rank));
        give_up(concat(wait.what, ": ", join(late, ", "), " did not take part within ",
                       wait.timeout_seconds, " s; it may have died or hung"));
        fail(failure_);
      }
    }
    pause(waited);
  }
}

// A message that has come counts, also if its sender has failed since: it had done its part.
bool Job::is_done(const Wait& wait) const {
  check_own();
  try {
    if (wait.done()) return true;
  } catch (const Error&) {
    require(failure_.empty(), failure_);  // why a worker may be gone
    throw;
  }
  require(failure_.empty(), failure_);
  if (others_there_ < count_ - 1) check_there(wait.missing(), wait.what);
  return false;
}

// A worker says that it has ended only after all its messages have gone, and those arrive in order:
// what is still missing from it will not come.
void Job::check_there(const std::vector<int>& ranks, std::string_view what) const {
  for (int rank : ranks)
    require(!ended_[rank], what, ": ", name(rank),
            " has ended; all workers must make the same calls");
}

void Job::give_up(const std::string& reason) {
  if (failure_.empty()) failure_ = reason;
}

void Job::announce(const std::string& reason) noexcept {
  try {
    MutexLock lock(mpi_mutex);
    say_last_word(true, heard_failure_ ? failure_ : reason);
    give_up(reason);  // second, since it takes memory
  } catch (const std::exception&) {
    // The others will run into their time-out.
  }
}

void Job::check_others() {
  MutexLock lock(mpi_mutex);
  if (!over_) hear();
  require(failure_.empty(), failure_);
}

std::vector<int> Job::silent(double seconds) noexcept {
  std::vector<int> out;
  try {
    MutexLock lock(mpi_mutex);
    auto start = Clock::now();
    for (hear(); others_there_ > 0; hear()) {
      double waited = seconds_since(start);
      if (waited > seconds) break;
      lock.unlock();
      pause(waited);
      lock.lock();
    }
    for (int rank = 0; rank < count_; ++rank)
      if (rank != rank_ && !ended_[rank]) out.push_back(rank);
  } catch (const std::exception&) {
    // The time-out is told without names.
  }
  return out;
}

int Job::next_tags(int many) {
  if (next_tag_ > last_tag_ - many) next_tag_ = first_of_reductions;
  next_tag_ += many;
  return next_tag_ - many;
}

void Job::listen() {
  std::size_t count = count_;
  words_.resize(count);
  ended_.assign(count, false);
  others_there_ = count_ - 1;
  heard_.resize(count);
  statuses_.resize(count);
  saying_.assign(count, MPI_REQUEST_NULL);
  listening_.assign(count, MPI_REQUEST_NULL);
  for (int rank = 0; rank < count_; ++rank)
    if (rank != rank_) listen_to(rank);
}

void Job::listen_to(int rank) {
  std::size_t r = rank;
  check(MPI_Irecv(&words_[r], sizeof(Word), MPI_BYTE, rank, words, comm_, &listening_[r]),
        name(rank));
}

void Job::hear() {
  int many = 0, kind = MPI_SUCCESS;
  int code = MPI_Testsome(count_, listening_.data(), &many, heard_.data(), statuses_.data());
  // An error here says that a worker is gone; who waits for it will find that out, by name.
  if (code != MPI_SUCCESS) MPI_Error_class(code, &kind);
  if (kind != MPI_SUCCESS && kind != MPI_ERR_IN_STATUS) return;
  for (int i = 0; many != MPI_UNDEFINED && i < many; ++i) {
    std::size_t at = i;
    if (kind != MPI_SUCCESS && statuses_[at].MPI_ERROR != MPI_SUCCESS) continue;
    int rank = heard_[at];
    const Word& word = words_[rank];
    if (word.kind == Word::asked_to_stop) {
      to_stop_.insert(word.work);
      listen_to(rank);
      continue;
    }
    ended_[rank] = true;
    --others_there_;
    if (word.kind != Word::failed && word.kind != Word::passed_on) continue;
    if (failure_.empty()) heard_failure_ = true;
    give_up(word.kind == Word::failed ? concat(name(rank), " cannot go on: ", word.reason)
                                      : std::string(word.reason));
  }
}

void Job::ask_to_stop(std::int64_t work) noexcept {
  try {
    MutexLock lock(mpi_mutex);
    if (said_) return;
    Memory memory = make_memory(sizeof(Word));
    const Word asked{.kind = Word::asked_to_stop, .work = work, .reason = {}};
    std::memcpy(memory->data(), &asked, sizeof asked);
    keep(memory);
    for (int rank = 0; rank < count_; ++rank) {
      if (rank == rank_) continue;
      MPI_Request request;
      check(MPI_Isend(memory->data(), sizeof asked, MPI_BYTE, rank, words, comm_, &request),
            name(rank));
      check(MPI_Request_free(&request), name(rank));
    }
  } catch (const std::exception&) {
    // The others learn of it when they next agree.
  }
}

bool Job::is_asked_to_stop(std::int64_t work) noexcept {
  try {
    MutexLock lock(mpi_mutex);
    if (!over_) hear();
    return to_stop_.contains(work);
  } catch (const std::exception&) {
    return false;  // who waits will find out what is wrong
  }
}

void Job::say_last_word(bool failed, const std::string& reason) {
  if (std::exchange(said_, true)) return;
  Word& last = words_[rank_];
  last.kind = !failed ? Word::ended : heard_failure_ ? Word::passed_on : Word::failed;
  last.reason[reason.copy(last.reason, sizeof last.reason - 1)] = '\0';
  for (int rank = 0; rank < count_; ++rank) {
    if (rank == rank_) continue;
    int sent = MPI_Isend(&last, sizeof last, MPI_BYTE, rank, words, comm_, &saying_[rank]);
    if (sent != MPI_SUCCESS) check(sent, name(rank));
  }
  // A process that fails may soon be gone: most messages leave at once, the others get a moment.
  auto start = Clock::now();
  while (failed && !word_is_out() && seconds_since(start) < 0.2) {
  }
}

}  // namespace belfry::mpi
