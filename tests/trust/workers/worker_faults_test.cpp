// Faults of one worker of a job of two to four: the others name it and end, or all go on; and a
// restarted job goes on to the bits of one that nothing disturbed.
//
// BELFRY_WORKER_FAULTS says how often each is tried, BELFRY_WORKER_FAULTS_SEED which are drawn.

#include <gtest/gtest.h>
#include <signal.h>

#include <algorithm>
#include <filesystem>
#include <utility>

#include "../../framework/base/from_environment.h"
#include "../../framework/distribute/mpi/mpirun.h"
#include "../tell_count.h"
#include "belfry/framework/tensor/philox.h"
#include "belfry/framework/train/checkpoint.h"
#include "faults.h"

namespace belfry {
namespace {

using ::testing::HasSubstr;

constexpr std::int64_t last_step = 12;

struct Case {
  std::string fault;
  /// The others say this, where V stands for the victim and N for the workers; empty: all go on.
  std::string told;
  int timeout_s = 120;   ///< after which a worker that is silent is at fault
  std::string own = {};  ///< what the victim says
};
void PrintTo(const Case& c, std::ostream* out) { *out << c.fault; }

struct Trial {
  int workers = 2, victim = 0;
  std::int64_t step = 1;
  std::string policy;
  bool tcp = false;  ///< connected as over a network, else through shared memory
};

std::string content(const std::string& path) {
  return std::filesystem::exists(path) ? read_file(path) : "";
}

class WorkerFaults : public ::testing::TestWithParam<Case> {
 protected:
  Trial draw() {
    Trial out;
    out.workers = 2 + static_cast<int>(random.below(3));
    out.victim = static_cast<int>(random.below(static_cast<std::uint64_t>(out.workers)));
    out.step = 1 + static_cast<std::int64_t>(random.below(last_step - 3));
    out.policy = random.below(2) == 0 ? "global" : "per_worker";
    out.tcp = is_of_connections(GetParam().fault) || random.below(2) == 0;
    return out;
  }

  MpiJob start(const Trial& trial, const std::string& dir, const std::string& fault) const {
    std::vector<std::string> words{"--output-filename", dir + ".output"};
    if (trial.tcp) {
      for (auto [name, value] : {std::pair("btl", std::string("self,tcp")),
                                 {"btl_tcp_if_include", "lo"},
                                 {"btl_tcp_port_min_v4", text(first_port_of_jobs)},
                                 {"btl_tcp_port_range_v4", text(ports_of_jobs)}})
        words.insert(words.end(), {"--mca", name, value});
    }
    bool other_program = fault == "other_program";
    const std::vector<std::string> arguments{dir,
                                             trial.policy,
                                             text(last_step),
                                             text(trial.victim),
                                             other_program ? "none" : fault,
                                             text(trial.step),
                                             text(GetParam().timeout_s)};
    auto add = [&](const std::string& program, int workers) {
      if (workers == 0) return;
      if (std::ranges::count(words, "-n") > 0) words.push_back(":");
      auto more = MpiJob::words_for(program, arguments, workers);
      words.insert(words.end(), more.begin(), more.end());
    };
    int before = other_program ? trial.victim : trial.workers;
    add(BELFRY_FAULTY_WORKER, before);
    if (other_program) add(BELFRY_OTHER_WORKER, 1);
    if (other_program) add(BELFRY_FAULTY_WORKER, trial.workers - before - 1);
    return MpiJob(words, dir + ".log", true);
  }

  /// The end of a job with a fault. A worker that was stopped is killed when all others have ended,
  /// as mpirun does unless it is told to let workers outlive others. A job that hangs is at fault.
  void wait_for(MpiJob job, const Trial& trial, const std::string& dir) const {
    auto limit = std::chrono::steady_clock::now() + std::chrono::seconds(180);
    while (job.running()) {
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
      bool stopped = GetParam().fault == "stop" && silent_others(trial, dir) == 0;
      bool hangs = std::chrono::steady_clock::now() > limit;
      if (stopped || hangs) kill_all(trial, dir);
      if (!hangs) continue;
      job.wait();
      FAIL() << "it hangs\n" << content(dir + ".log");
    }
    job.wait();
  }
  // How many but the victim have told of no fault.
  static int silent_others(const Trial& trial, const std::string& dir) {
    int silent = 0;
    for (int rank = 0; rank < trial.workers; ++rank)
      silent += rank != trial.victim && content(concat(dir, ".error_", rank)).empty();
    return silent;
  }
  static void kill_all(const Trial& trial, const std::string& dir) {
    for (int rank = 0; rank < trial.workers; ++rank)
      if (std::string id = content(concat(dir, ".pid_", rank)); !id.empty())
        ::kill(std::stoi(id), SIGKILL);
  }

  // A connection that breaks is sometimes made anew, by MPI; who is killed late may be through.
  bool goes_on(const Trial& trial, const std::string& dir) const {
    const std::string& fault = GetParam().fault;
    if (fault == "disconnect" || fault == "kill")
      return silent_others(trial, dir) == trial.workers - 1
             && std::filesystem::exists(checkpoint_path(dir, last_step));
    return GetParam().told.empty();
  }

  void expect_told(const Trial& trial, const std::string& dir) const {
    std::string told = GetParam().told;
    for (auto [letter, number] : {std::pair("V", trial.victim), {"N", trial.workers}})
      for (std::size_t at; (at = told.find(letter)) != told.npos;)
        told.replace(at, 1, text(number));
    for (int rank = 0; rank < trial.workers; ++rank) {
      std::string error = content(concat(dir, ".error_", rank));
      if (rank == trial.victim) {
        EXPECT_THAT(error, HasSubstr(GetParam().own));
      } else if (error.empty() && trial.tcp) {
        // Open MPI ends a worker, with such a word, that broke a connection it needs.
        EXPECT_THAT(content(concat(dir, ".output/1/rank.", rank, "/stderr")), HasSubstr(" FATAL"))
            << "on worker " << rank;
      } else {
        EXPECT_THAT(error, HasSubstr(told)) << "on worker " << rank << "\n"
                                            << content(dir + ".log");
      }
    }
  }

  // The fault has happened, to each connection of the victim: at its end, and at the others'.
  static void expect_broken(const Trial& trial, const std::string& dir) {
    for (int rank = 0; rank < trial.workers; ++rank) {
      int ends = rank == trial.victim ? trial.workers - 1 : GetParam().fault == "cut_off" ? 1 : 0;
      EXPECT_EQ(std::stoi("0" + content(concat(dir, ".broken_", rank))), ends) << "worker " << rank;
    }
  }

  // With the setting that lets others outlive one, mpirun ends with 0 whatever they do.
  static void expect_no_errors(const Trial& trial, const std::string& dir) {
    for (int rank = 0; rank < trial.workers; ++rank)
      EXPECT_EQ(content(concat(dir, ".error_", rank)), "") << "on worker " << rank;
  }

  void expect_undisturbed(const Trial& trial, const std::string& dir) const {
    std::string whole = folder / concat("whole_", trial.workers, trial.policy);
    if (!std::filesystem::exists(whole)) start(trial, whole, "none").wait();
    expect_no_errors(trial, whole);
    ASSERT_TRUE(std::filesystem::exists(checkpoint_path(dir, last_step))) << content(dir + ".log");
    EXPECT_EQ(read_file(checkpoint_path(dir, last_step)),
              read_file(checkpoint_path(whole, last_step)));
  }

  TemporaryFolder folder;
  std::int64_t seed = from_environment("BELFRY_WORKER_FAULTS_SEED", 1);
  PhiloxStream random{philox_key(static_cast<std::uint64_t>(seed), GetParam().fault)};
};

TEST_P(WorkerFaults, EndWithTheOneAtFaultNamedAndRestartsAreExact) {
  std::int64_t times = from_environment("BELFRY_WORKER_FAULTS", 1);
  for (std::int64_t i = 0; i < times; ++i) {
    Trial trial = draw();
    const std::string& fault = GetParam().fault;
    // The chief is what the others are compared with, and has the only files that are written.
    if (fault.starts_with("other_") && trial.victim == 0) trial.victim = 1;
    if (fault == "full_disk") trial.victim = 0;
    if (fault == "other_data") trial.policy = "global";  // else each reads what it likes
    SCOPED_TRACE(concat("trial ", i, " of seed ", seed, ": worker ", trial.victim, " of ",
                        trial.workers, trial.tcp ? " by TCP, " : ", ", trial.policy,
                        ", after step ", trial.step));
    std::string dir = folder / concat("trial_", i);
    wait_for(start(trial, dir, fault), trial, dir);
    if (is_of_connections(fault)) expect_broken(trial, dir);
    if (!goes_on(trial, dir)) {
      expect_told(trial, dir);
      for (int rank = 0; rank < trial.workers; ++rank)
        std::filesystem::remove(concat(dir, ".error_", rank));
      start(trial, dir, "none").wait();
    }
    expect_no_errors(trial, dir);
    expect_undisturbed(trial, dir);
    ASSERT_FALSE(HasFailure());
  }
  tell_count(times, "faults of one of several workers");
}

std::vector<Case> cases() {
  // Who waits for several, because they wait for the one, names them all.
  const std::string late = "worker V of N",
                    graph = "worker V has built another graph than worker 0";
  return {{"kill", late, 10},
          {"kill_at_end", "", 5},
          {"stop", late, 10},
          {"disconnect", late, 10},
          {"exit", "worker V of N has ended"},
          {"throw", "worker V of N cannot go on: training failed in step", 120,
           "the sensor is unplugged"},
          {"deaf", late, 10, "did not take part within 10 s"},
          {"cut_off", late, 10, "did not take part within 10 s"},
          {"ten_times_slower", ""},
          {"full_disk", "worker V of N cannot go on: training failed in step", 120,
           "No space left on device"},
          {"other_program", graph},
          {"other_rate", graph},
          {"other_precision", graph},
          {"other_seed", "worker V has seed 2"},
          {"other_towers", "worker V has towers x devices = 2 x 1"},
          {"other_policy", "worker V has towers x devices = 1 x 1 and batches"},
          {"other_data", "worker V has read another batch than worker 0"},
          {"other_bucket", graph}};
}

INSTANTIATE_TEST_SUITE_P(Of, WorkerFaults, ::testing::ValuesIn(cases()),
                         [](const auto& info) { return info.param.fault; });

}  // namespace
}  // namespace belfry
