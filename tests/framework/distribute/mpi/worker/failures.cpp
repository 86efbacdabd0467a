#include <signal.h>

#include "belfry/framework/backend/backend.h"
#include "mpi_worker.h"

namespace belfry {
namespace {

// A reduction of `count` floats, started and finished; what comes of it.
std::string reduce_some(Workers& workers, double timeout_seconds, std::size_t count = 10) {
  std::vector<float> values(count);
  auto group = workers.communicator({.timeout_seconds = timeout_seconds});
  auto device = find_device("cpu");
  auto stream = device->make_stream();
  auto reduction = group->all_reduce(
      workers.rank(), {.name = "bucket 2 of adam",
                       .segments = {{values.data(), static_cast<std::int64_t>(values.size())}}});
  return error_of([&] {
    reduction->start(*stream);
    reduction->finish(*stream);
  });
}

}  // namespace

std::string absent(const Job& job) {
  auto workers = find_workers({.timeout_seconds = 60});
  job.meet(workers->rank());
  if (workers->rank() == 1) {
    job.wait_until_through({0, 2});
    return error_of([&] { workers->barrier(); }).substr(11);  // worker 0 or 2 was first
  }
  std::string error = reduce_some(*workers, 2);
  job.record(workers->rank(), error);
  job.wait_until_through({0, 2});
  workers->announce_failure(error);
  job.wait_until_through({1});  // or mpirun would end worker 1
  return error;
}

std::string killed(const Job& job) {
  auto workers = find_workers({.timeout_seconds = 2});
  job.meet(workers->rank());
  if (workers->rank() == 1) raise(SIGKILL);
  std::string error = error_of([&] { workers->all_gather(1.5); });
  job.record(workers->rank(), error);
  job.wait_until_through({0, 2});
  return concat(error, "\nthen: ", reduce_some(*workers, 60));
}

std::string announce(const Job& job) {
  auto workers = find_workers({.timeout_seconds = 600});
  job.meet(workers->rank());
  if (workers->rank() == 2) {
    workers->announce_failure("the disk is full");
    job.wait_until_through({0, 1});
    return error_of([&] { workers->barrier(); });
  }
  std::string error = reduce_some(*workers, 60);
  return concat(error, "\nthen: ", error_of([&] { workers->barrier(); }));
}

std::string leave(const Job& job) {
  auto workers = find_workers({.timeout_seconds = 600});
  job.meet(workers->rank());
  if (workers->rank() == 1) return "ended";
  std::string error = error_of([&] { workers->all_gather(1.5); });
  workers->announce_failure(error);
  return error;
}

std::string mismatch(const Job& job) {
  auto workers = find_workers({.timeout_seconds = 60});
  std::string error = reduce_some(*workers, 60, workers->rank() == 2 ? 12 : 10);
  job.record(workers->rank(), error);
  job.wait_until_through({0, 1, 2});
  return error;
}

}  // namespace belfry
