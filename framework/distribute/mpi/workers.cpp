#include "belfry/framework/distribute/workers.h"

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "belfry/framework/backend/communicator.h"
#include "belfry/framework/base/error.h"
#include "belfry/framework/distribute/mpi/communicator.h"
#include "belfry/framework/distribute/mpi/messages.h"

namespace belfry::mpi {
namespace {

using Bytes = std::vector<std::byte>;

constexpr std::size_t piece = std::size_t{1} << 24;  // bytes: MPI counts in int
constexpr int chief = 0;

// A set of messages that is waited for at once.
class Exchange {
 public:
  Exchange(Job& job, std::string_view name, std::size_t bytes)
      : job_(job), name_(name), memory_(make_memory(bytes)), messages_(job, memory_, 0) {
    MutexLock lock(mpi_mutex);
    job_.check_own();
  }

  std::byte* memory() { return memory_->data(); }
  void send(int to, int tag, const std::byte* data, std::size_t bytes) {
    MutexLock lock(mpi_mutex);
    std::size_t at = 0;
    do {
      messages_.send(to, tag, data + at, std::min(piece, bytes - at));
      at += piece;
    } while (at < bytes);
  }
  void receive(int from, int tag, std::byte* data, std::size_t bytes) {
    MutexLock lock(mpi_mutex);
    std::size_t at = 0;
    do {
      messages_.receive(from, tag, data + at, std::min(piece, bytes - at));
      at += piece;
    } while (at < bytes);
  }
  void wait() {
    job_.wait({.what = name_,
               .timeout_seconds = job_.timeout_seconds(),
               .done = [this]() BELFRY_REQUIRES(mpi_mutex) { return messages_.done(); },
               .missing = [this]() BELFRY_REQUIRES(mpi_mutex) { return messages_.missing(); }});
  }

 private:
  Job& job_;
  std::string_view name_;
  Memory memory_;
  Messages messages_;
};

class MpiWorkers final : public Workers {
 public:
  int count() const override { return job_->count(); }
  int rank() const override { return job_->rank(); }
  std::string describe() const override { return job_->describe(); }

  using Workers::all_gather;
  void all_gather(std::span<const std::byte> mine, std::span<std::byte> all) override {
    std::size_t n = count(), me = rank();
    ensure(all.size() == n * mine.size(), "all_gather: ", mine.size(), " bytes from each of ", n,
           " workers do not make ", all.size());
    Exchange exchange(*job_, "all_gather", all.size());
    auto part = [&](std::size_t rank) { return exchange.memory() + rank * mine.size(); };
    std::copy(mine.begin(), mine.end(), part(me));
    for (int other = 0; other < count(); ++other) {
      if (other == rank()) continue;
      exchange.receive(other, gathered, part(other), mine.size());
      exchange.send(other, gathered, part(me), mine.size());
    }
    exchange.wait();
    std::copy_n(exchange.memory(), all.size(), all.begin());
  }

  void broadcast(Bytes& bytes) override {
    std::int64_t size = bytes.size();
    spread("broadcast", reinterpret_cast<std::byte*>(&size), sizeof size);
    bytes.resize(size);
    spread("broadcast", bytes.data(), bytes.size());
  }

  std::vector<Bytes> gather(std::span<const std::byte> mine) override {
    std::vector<std::int64_t> sizes = all_gather(std::ssize(mine));
    std::size_t total = 0;
    for (std::int64_t size : sizes) total += size;
    if (!is_chief()) {
      Exchange exchange(*job_, "gather", mine.size());
      std::copy(mine.begin(), mine.end(), exchange.memory());
      exchange.send(chief, collected, exchange.memory(), mine.size());
      exchange.wait();
      return {};
    }
    Exchange exchange(*job_, "gather", total);
    std::copy(mine.begin(), mine.end(), exchange.memory());
    std::byte* next = exchange.memory() + mine.size();
    for (int other = 1; other < count(); ++other) {
      std::size_t size = sizes[other];
      exchange.receive(other, collected, next, size);
      next += size;
    }
    exchange.wait();
    std::vector<Bytes> all;
    next = exchange.memory();
    for (std::int64_t size : sizes) {
      all.emplace_back(next, next + size);
      next += size;
    }
    return all;
  }

  std::shared_ptr<Communicator> communicator(const CommunicatorOptions& options) override {
    return make_communicator(job_, options);
  }
  void announce_failure(const std::string& reason) noexcept override { job_->announce(reason); }
  void check() override { job_->check_others(); }
  void ask_to_stop(std::int64_t work) noexcept override { job_->ask_to_stop(work); }
  bool is_asked_to_stop(std::int64_t work) noexcept override {
    return job_->is_asked_to_stop(work);
  }
  std::vector<int> silent_after_failure(const std::string& reason,
                                        double seconds) noexcept override {
    job_->announce(reason);
    return job_->silent(seconds);
  }

  void set(const WorkerOptions& options) { job_->set_timeout_seconds(options.timeout_seconds); }
  void end() noexcept { job_->end(); }

 private:
  // The chief's bytes go to every worker.
  void spread(std::string_view name, std::byte* data, std::size_t bytes) {
    Exchange exchange(*job_, name, bytes);
    if (is_chief()) {
      std::copy_n(data, bytes, exchange.memory());
      for (int other = 1; other < count(); ++other)
        exchange.send(other, Tag::broadcast, exchange.memory(), bytes);
      exchange.wait();
    } else {
      exchange.receive(chief, Tag::broadcast, exchange.memory(), bytes);
      exchange.wait();
      std::copy_n(exchange.memory(), bytes, data);
    }
  }

  std::shared_ptr<Job> job_ = std::make_shared<Job>();
};

// The process's end is the worker's, also by exit(), which leaves others' pointers to it as they
// are.
struct WorkersOfProcess {
  std::shared_ptr<MpiWorkers> workers = std::make_shared<MpiWorkers>();
  ~WorkersOfProcess() { workers->end(); }
};

const WorkersRegistration registration(
    [](const std::optional<WorkerOptions>& options) -> std::shared_ptr<Workers> {
      static const WorkersOfProcess process;
      if (options) process.workers->set(*options);
      return process.workers;
    });

}  // namespace
}  // namespace belfry::mpi
