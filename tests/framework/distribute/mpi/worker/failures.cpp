#include <signal.h>

#include <array>
#include <chrono>
#include <cstdlib>
#include <thread>

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
  auto workers = find_workers(WorkerOptions{.timeout_seconds = 60});
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
  auto workers = find_workers(WorkerOptions{.timeout_seconds = 2});
  job.meet(workers->rank());
  if (workers->rank() == 1) raise(SIGKILL);
  std::string error = error_of([&] { workers->all_gather(1.5); });
  job.record(workers->rank(), error);
  job.wait_until_through({0, 2});
  return concat(error, "\nthen: ", reduce_some(*workers, 60));
}

std::string announce(const Job& job) {
  auto workers = find_workers(WorkerOptions{.timeout_seconds = 600});
  job.meet(workers->rank());
  if (workers->rank() == 2) {
    workers->announce_failure("the disk is full");
    job.wait_until_through({0, 1});
    return error_of([&] { workers->barrier(); });
  }
  std::string error = reduce_some(*workers, 60);
  return concat(error, "\nthen: ", error_of([&] { workers->barrier(); }));
}

// The chief does its part of a broadcast and fails; worker 1 comes to it when it has heard of that.
std::string part(const Job& job) {
  auto workers = find_workers(WorkerOptions{.timeout_seconds = 60});
  std::vector<std::byte> bytes{std::byte{7}};
  if (workers->is_chief()) {
    workers->broadcast(bytes);
    workers->announce_failure("the disk is full");
    job.record(0, "failed");
    job.wait_until_through({1});
    return "failed";
  }
  job.wait_until_through({0});
  std::string heard;
  while (heard.empty()) heard = error_of([&] { workers->check(); });
  bytes.clear();
  workers->broadcast(bytes);
  return concat(bytes.size(), " byte, ", std::to_integer<int>(bytes.at(0)), ", then ",
                error_of([&] { workers->barrier(); }));
}

std::string leave(const Job& job) {
  auto workers = find_workers(WorkerOptions{.timeout_seconds = 600});
  job.meet(workers->rank());
  if (workers->rank() == 1) return "ended";
  std::string error = error_of([&] { workers->all_gather(1.5); });
  workers->announce_failure(error);
  return error;
}

std::string mismatch(const Job& job) {
  auto workers = find_workers(WorkerOptions{.timeout_seconds = 60});
  std::string error = reduce_some(*workers, 60, workers->rank() == 2 ? 12 : 10);
  job.record(workers->rank(), error);
  job.wait_until_through({0, 1, 2});
  return error;
}

namespace {

// Two segments of 2 and 4 elements, or of `first` and the rest.
std::string reduce_two(const Job& job, std::int64_t first, const char* name) {
  auto workers = find_workers(WorkerOptions{.timeout_seconds = 60});
  std::array<float, 6> values{};
  auto group = workers->communicator({.timeout_seconds = 60});
  auto stream = find_device("cpu")->make_stream();
  auto reduction = group->all_reduce(
      workers->rank(),
      {.name = name, .segments = {{values.data(), first}, {values.data() + first, 6 - first}}});
  std::string error = error_of([&] {
    reduction->start(*stream);
    reduction->finish(*stream);
  });
  job.record(workers->rank(), error);
  job.wait_until_through({0, 1});
  return error;
}

}  // namespace

std::string segments(const Job& job) {
  return reduce_two(job, find_workers()->rank() == 0 ? 2 : 4, "bucket");
}

std::string names(const Job& job) {
  return reduce_two(job, 2, find_workers()->rank() == 0 ? "bucket 0 of adam" : "bucket 0 of sgd");
}

// Worker 1 ends by exit() while it holds a communicator; the others still have work to do.
std::string exits(const Job& job) {
  auto workers = find_workers(WorkerOptions{.timeout_seconds = 60});
  auto group = workers->communicator({});
  workers->barrier();
  if (workers->rank() == 1) {
    job.record(1, "exits");
    std::exit(0);
  }
  job.wait_until_through({1});
  std::this_thread::sleep_for(std::chrono::milliseconds(500));
  return "worked on";
}

// Nobody comes to the second barrier; who only asks for the workers leaves the time-out as it is.
std::string asks(const Job& job) {
  auto workers = find_workers(WorkerOptions{.timeout_seconds = 1});
  workers->barrier();
  find_workers();
  if (workers->rank() == 1) {
    job.wait_until_through({0});
    return "late";
  }
  std::string error = error_of([&] { workers->barrier(); });
  job.record(0, error);
  job.wait_until_through({1});
  return error;
}

}  // namespace belfry
