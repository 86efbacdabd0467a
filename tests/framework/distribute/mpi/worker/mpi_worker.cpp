// One worker of a job: mpi_worker SCENARIO FOLDER. Writes the outcome to FOLDER/<rank>.

#include "mpi_worker.h"

#include <chrono>
#include <cstdio>
#include <filesystem>
#include <map>
#include <thread>

#include "belfry/framework/base/file.h"

namespace belfry {

void Job::wait_until_through(const std::vector<int>& ranks) const {
  for (int rank : ranks)
    while (!std::filesystem::exists(concat(folder, "/", rank)))
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
}

void Job::meet(int rank) const {
  record(100 + rank, "here");
  wait_until_through({100, 101, 102});
}

void Job::record(int rank, const std::string& text) const {
  write_file_atomically(concat(folder, "/", rank), text);
}

}  // namespace belfry

int main(int argc, char** argv) {
  using namespace belfry;
  const std::map<std::string, std::string (*)(const Job&)> scenarios = {
      {"exchange", exchange}, {"reduce", reduce},
      {"towers", towers},     {"mismatch", mismatch},
      {"absent", absent},     {"killed", killed},
      {"announce", announce}, {"different", different},
      {"leave", leave},       {"segments", segments},
      {"names", names},       {"exits", exits},
      {"asks", asks},         {"part", part}};
  auto scenario = scenarios.find(argc == 3 ? argv[1] : "");
  if (scenario == scenarios.end()) return 2;
  Job job{argv[2]};
  try {
    std::string text = scenario->second(job);
    job.record(find_workers()->rank(), text);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "error: %s\n", error.what());
    return 1;
  }
}
