#pragma once
// Runs a scenario of mpi_worker as a job of several processes on this machine.

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>

#include <chrono>
#include <string>
#include <thread>
#include <vector>

#include "../../base/temporary_folder.h"
#include "belfry/framework/base/file.h"
#include "belfry/framework/base/text.h"

extern char** environ;

namespace belfry {

/// What came of a job.
struct JobResult {
  int status = 0;                  ///< of mpirun, as waitpid() gives it
  std::vector<std::string> texts;  ///< of each worker; "nothing" when it wrote none
  std::string log;                 ///< what mpirun and the workers printed
};

/// Runs `scenario` in `workers` processes. `recover`: those that remain go on when one dies, where
/// mpirun would else end them all.
inline JobResult run_job(const std::string& scenario, int workers, bool recover = false) {
  // Open MPI's settings: more processes than cores, which give way when they wait; no copies
  // between address spaces, which containers forbid; no other machine. And Open MPI leaks memory of
  // its own, from modules that are unloaded before a leak checker could tell.
  for (auto [name, value] : std::initializer_list<std::pair<const char*, const char*>>{
           {"OMPI_ALLOW_RUN_AS_ROOT", "1"},
           {"OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1"},
           {"OMPI_MCA_rmaps_base_oversubscribe", "1"},
           {"OMPI_MCA_mpi_yield_when_idle", "1"},
           {"OMPI_MCA_hwloc_base_binding_policy", "none"},
           {"OMPI_MCA_btl", "self,vader"},
           {"OMPI_MCA_btl_vader_single_copy_mechanism", "none"},
           {"OMPI_MCA_orte_enable_recovery", recover ? "1" : "0"},
           {"LSAN_OPTIONS", "detect_leaks=0"}})
    setenv(name, value, 1);
  TemporaryFolder folder;
  std::string log = folder / "log", count = text(workers);
  const char* arguments[] = {
      BELFRY_MPIRUN,         "-n",   count.c_str(), BELFRY_MPI_WORKER, scenario.c_str(),
      folder.path().c_str(), nullptr};
  posix_spawn_file_actions_t files;
  posix_spawn_file_actions_init(&files);
  posix_spawn_file_actions_addopen(&files, 0, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_addopen(&files, 1, log.c_str(), O_WRONLY | O_CREAT, 0600);
  posix_spawn_file_actions_adddup2(&files, 1, 2);
  pid_t id = 0;
  JobResult result;
  int error =
      posix_spawn(&id, BELFRY_MPIRUN, &files, nullptr, const_cast<char**>(arguments), environ);
  posix_spawn_file_actions_destroy(&files);
  if (error != 0) {
    ADD_FAILURE() << "cannot start " << BELFRY_MPIRUN;
    return result;
  }
  auto until = std::chrono::steady_clock::now() + std::chrono::seconds(120);
  while (waitpid(id, &result.status, WNOHANG) == 0) {
    if (std::chrono::steady_clock::now() > until) kill(id, SIGTERM), until += std::chrono::hours(1);
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  std::set<std::string> names = folder.names();
  for (int rank = 0; rank < workers; ++rank)
    result.texts.push_back(names.count(text(rank)) ? read_file(folder / text(rank)) : "nothing");
  result.log = read_file(log);
  return result;
}

}  // namespace belfry
