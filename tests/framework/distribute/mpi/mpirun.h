#pragma once
// Starts jobs of several processes on this machine.

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

/// A program in several processes on this machine.
class MpiJob {
 public:
  /// `recover`: those that remain go on when one dies, where mpirun would else end them all.
  MpiJob(const std::string& program, const std::vector<std::string>& arguments, int workers,
         const std::string& log, bool recover = false) {
    // Open MPI's settings: more processes than cores, which give way when they wait; no copies
    // between address spaces, which containers forbid; no other machine. And Open MPI leaks memory
    // of its own, from modules that are unloaded before a leak checker could tell.
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
    std::vector<std::string> words{BELFRY_MPIRUN, "-n", text(workers), program};
    words.insert(words.end(), arguments.begin(), arguments.end());
    std::vector<char*> pointers;
    for (std::string& word : words) pointers.push_back(word.data());
    pointers.push_back(nullptr);
    posix_spawn_file_actions_t files;
    posix_spawn_file_actions_init(&files);
    posix_spawn_file_actions_addopen(&files, 0, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_addopen(&files, 1, log.c_str(), O_WRONLY | O_CREAT | O_APPEND, 0600);
    posix_spawn_file_actions_adddup2(&files, 1, 2);
    int error = posix_spawn(&id_, BELFRY_MPIRUN, &files, nullptr, pointers.data(), environ);
    posix_spawn_file_actions_destroy(&files);
    ended_ = error != 0;
    if (ended_) ADD_FAILURE() << "cannot start " << BELFRY_MPIRUN;
  }

  bool running() {
    if (!ended_) ended_ = waitpid(id_, &status_, WNOHANG) == id_;
    return !ended_;
  }
  /// The status of mpirun, as waitpid() gives it. A job that takes two minutes is ended.
  int wait() {
    auto until = std::chrono::steady_clock::now() + std::chrono::seconds(120);
    while (running()) {
      if (std::chrono::steady_clock::now() > until)
        kill(id_, SIGTERM), until += std::chrono::hours(1);
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
    return status_;
  }

 private:
  pid_t id_ = 0;
  int status_ = 0;
  bool ended_ = false;
};

}  // namespace belfry
