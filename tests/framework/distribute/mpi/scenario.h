#pragma once
// Runs a scenario of mpi_worker.

#include "mpirun.h"

namespace belfry {

/// The outcome of a job.
struct JobResult {
  int status = 0;                  ///< of mpirun, as waitpid() gives it
  std::vector<std::string> texts;  ///< of each worker; "nothing" when it wrote none
  std::string log;                 ///< what mpirun and the workers printed
};

inline JobResult run_job(const std::string& scenario, int workers, bool recover = false) {
  TemporaryFolder folder;
  std::string log = folder / "log";
  JobResult result;
  result.status =
      MpiJob(BELFRY_MPI_WORKER, {scenario, folder.path()}, workers, log, recover).wait();
  std::set<std::string> names = folder.names();
  for (int rank = 0; rank < workers; ++rank)
    result.texts.push_back(names.count(text(rank)) ? read_file(folder / text(rank)) : "nothing");
  result.log = read_file(log);
  return result;
}

}  // namespace belfry
