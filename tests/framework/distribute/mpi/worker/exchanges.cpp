#include "mpi_worker.h"

namespace belfry {
namespace {

std::vector<std::byte> bytes_of(std::size_t size, int seed) {
  std::vector<std::byte> bytes(size);
  for (std::size_t i = 0; i < size; ++i)
    bytes[i] = static_cast<std::byte>((i * 2654435761u + static_cast<std::size_t>(seed)) >> 7);
  return bytes;
}

}  // namespace

std::string exchange(const Job&) {
  auto workers = find_workers(WorkerOptions{.timeout_seconds = 60});
  ensure(workers == find_workers(WorkerOptions{.timeout_seconds = 60}), "find_workers made two");
  int rank = workers->rank();
  std::string out = concat(workers->describe().substr(0, 21), workers->is_chief() ? " chief" : "");

  std::vector<double> last;
  for (int round = 0; round < 200; ++round) last = workers->all_gather(round + rank / 4.0);
  out += concat("\n", join(last, " "));
  struct Rows {
    std::int64_t count, stop;
  };
  for (const Rows& r : workers->all_gather(Rows{10 + rank, rank == 1}))
    out += concat(" ", r.count, ":", r.stop);

  for (std::size_t size : {std::size_t{0}, std::size_t{5}, (std::size_t{1} << 24) + 3}) {
    std::vector<std::byte> bytes = bytes_of(rank == 0 ? size : 7, rank);
    workers->broadcast(bytes);
    ensure(bytes == bytes_of(size, 0), "broadcast of ", size, " bytes");
    out += concat("\nbroadcast ", bytes.size());
  }

  auto all = workers->gather(bytes_of(static_cast<std::size_t>(rank) * 9'000'000, rank));
  for (std::size_t r = 0; r < all.size(); ++r) {
    ensure(all[r] == bytes_of(all[r].size(), static_cast<int>(r)), "gather from ", r);
    out += concat("\ngathered ", all[r].size());
  }
  workers->barrier();
  return out;
}

std::string different(const Job& job) {
  auto workers = find_workers(WorkerOptions{.timeout_seconds = 60});
  workers->barrier();
  std::string error = error_of([&] {
    if (workers->rank() == 2)
      workers->all_gather(std::int64_t{1});
    else
      workers->all_gather(std::int32_t{1});
  });
  job.record(workers->rank(), error);
  job.wait_until_through({0, 1, 2});
  return error;
}

}  // namespace belfry
