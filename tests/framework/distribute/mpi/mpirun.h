#pragma once
// Starts jobs of several processes on this machine.

#include <gmock/gmock.h>
#include <stdlib.h>

#include "../../base/child_process.h"
#include "../../base/temporary_folder.h"
#include "belfry/framework/base/file.h"
#include "belfry/framework/base/text.h"

namespace belfry {

/// A program in several processes on this machine.
class MpiJob : public ChildProcess {
 public:
  /// `recover`: those that remain go on when one dies, where mpirun would else end them all.
  MpiJob(const std::string& program, const std::vector<std::string>& arguments, int workers,
         const std::string& log, bool recover = false)
      : MpiJob(words_for(program, arguments, workers), log, recover) {}
  /// `words` are mpirun's.
  MpiJob(const std::vector<std::string>& words, const std::string& log, bool recover)
      : ChildProcess(command(words, recover), log) {}

  /// mpirun's words for so many workers that run a program.
  static std::vector<std::string> words_for(const std::string& program,
                                            const std::vector<std::string>& arguments,
                                            int workers) {
    std::vector<std::string> words{"-n", text(workers), program};
    words.insert(words.end(), arguments.begin(), arguments.end());
    return words;
  }

 private:
  static std::vector<std::string> command(const std::vector<std::string>& words, bool recover) {
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
    std::vector<std::string> all{BELFRY_MPIRUN};
    all.insert(all.end(), words.begin(), words.end());
    return all;
  }
};

}  // namespace belfry
