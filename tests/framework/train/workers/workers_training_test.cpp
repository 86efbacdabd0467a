// Trainings in jobs of several processes, against those of one.

#include <signal.h>

#include <cmath>

#include "../../distribute/mpi/mpirun.h"
#include "../comparing.h"
#include "belfry/framework/ops/random/draw.h"
#include "worker_input.h"

namespace belfry {
namespace {

using testing::AllOf;
using testing::HasSubstr;

struct Job {
  explicit Job(int count) : workers(count) {}

  MpiJob start(const std::string& dir, const std::string& policy, const std::string& towers,
               std::int64_t steps, int pause_ms = 0, bool recover = false) const {
    return MpiJob(BELFRY_TRAIN_WORKER, {dir, policy, towers, text(steps), text(pause_ms)}, workers,
                  dir + ".log", recover);
  }
  int workers;
};

std::string content(const std::string& path) {
  return std::filesystem::exists(path) ? read_file(path) : "";
}

// The checkpoint that a job leaves behind after so many steps.
NamedArrays trained_by(const Job& job, BatchPolicy policy, const std::string& towers,
                       std::int64_t steps) {
  TemporaryFolder folder;
  std::string dir = folder / "model";
  EXPECT_EQ(job.start(dir, to_string(policy), towers, steps).wait(), 0)
      << content(dir + ".log") << content(dir + ".error_0");
  for (int rank = 0; rank < job.workers; ++rank) {
    EXPECT_EQ(content(dir + ".error_" + text(rank)), "");
    EXPECT_EQ(content(dir + ".loss_" + text(rank)), content(dir + ".loss_0"));
  }
  return load_checkpoint(checkpoint_path(dir, steps)).variables;
}

NamedArrays trained_alone(BatchPolicy policy, const std::string& towers, std::int64_t steps) {
  CapturedLog log;
  TemporaryFolder folder;
  RunConfig config = worker_config(policy, towers);
  config.save_checkpoint = Steps(1000);
  config.stop_on_signals = false;
  Estimator({.model_fn = worker_model, .model_dir = folder.path(), .run = config})
      .train(batches_of(1000), {.max_steps = steps});
  return load_checkpoint(checkpoint_path(folder.path(), steps)).variables;
}

// Leaves out the variables of kinds that differ from tower to tower: they have another number of
// values.
NamedArrays without_counts(NamedArrays all) {
  for (const char* kind : {"sum", "mean", "per_tower"})
    std::erase_if(all, [&](const auto& v) { return v.first.starts_with(kind); });
  return all;
}

TEST(WorkersTraining, TowersOfSeveralProcessesGiveTheBitsOfAsManyInOne) {
  for (int workers : {2, 4}) {
    NamedArrays job = trained_by(Job(workers), BatchPolicy::global, "1", 20);
    expect_identical(job, trained_alone(BatchPolicy::global, text(workers), 20));
    EXPECT_LT(largest_difference(without_counts(job),
                                 without_counts(trained_alone(BatchPolicy::global, "1", 20))),
              1e-6);
  }
}

TEST(WorkersTraining, TwoTowersInEachOfTwoProcesses) {
  NamedArrays job = trained_by(Job(2), BatchPolicy::global, "2", 20);
  EXPECT_LT(largest_difference(job, trained_alone(BatchPolicy::global, "4", 20)), 1e-6);
}

// One cut for all: the chief's.
TEST(WorkersTraining, TowersOfTwoDevices) {
  NamedArrays job = trained_by(Job(2), BatchPolicy::global, "1 x 2", 20);
  expect_identical(job, trained_alone(BatchPolicy::global, "2 x 2", 20));
  NamedArrays four = trained_by(Job(2), BatchPolicy::global, "2 x 2", 20);
  EXPECT_LT(largest_difference(four, trained_alone(BatchPolicy::global, "4", 20)), 1e-6);
}

// Worker w reads batches w, w + 2, ...: those that tower w of one process takes.
TEST(WorkersTraining, WorkersReadPartsOfTheData) {
  expect_identical(trained_by(Job(2), BatchPolicy::per_worker, "1", 20),
                   trained_alone(BatchPolicy::per_tower, "2", 20));
}

// When worker 1 has none left, a restarted job goes on as the first would have.
TEST(WorkersTraining, WorkersMayHaveNoData) {
  TemporaryFolder folder;
  std::string whole = folder / "whole", stopped = folder / "stopped";
  Job job(2);
  ASSERT_EQ(job.start(whole, "uneven", "1", 1000).wait(), 0) << content(whole + ".log");
  for (std::int64_t steps : {3, 5, 1000})
    ASSERT_EQ(job.start(stopped, "uneven", "1", steps).wait(), 0) << content(stopped + ".log");
  EXPECT_EQ(read_file(checkpoint_path(stopped, 6)), read_file(checkpoint_path(whole, 6)));
  EXPECT_EQ(content(stopped + ".loss_1"), content(whole + ".loss_0"));
}

// Once one of two workers waits for data, and the other for it, a signal is sent to `hearing`.
void expect_stopped_where_it_waits(const std::string& dir, const std::string& policy, int hearing) {
  MpiJob job = Job(2).start(dir, policy, "1", 8);
  while (job.running() && !std::filesystem::exists(dir + ".waits"))
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  ASSERT_EQ(kill(static_cast<pid_t>(std::stol(content(dir + ".pid_" + text(hearing)))), SIGTERM),
            0);
  ASSERT_EQ(job.wait(), 0) << content(dir + ".log");
  for (const char* rank : {"0", "1"}) EXPECT_EQ(content(dir + ".error_" + rank), "");
}

// Worker 1 waits for its fourth batch.
TEST(WorkersTraining, AStopOfOneReachesAllThatWait) {
  TemporaryFolder folder;
  std::string whole = folder / "whole";
  ASSERT_EQ(Job(2).start(whole, "per_worker", "1", 8).wait(), 0) << content(whole + ".log");
  for (int hearing : {0, 1}) {
    std::string dir = folder / text(hearing);
    ASSERT_NO_FATAL_FAILURE(expect_stopped_where_it_waits(dir, "waiting", hearing));
    EXPECT_EQ(list_checkpoints(dir).back().step, 3);
    ASSERT_EQ(Job(2).start(dir, "per_worker", "1", 8).wait(), 0) << content(dir + ".log");
    EXPECT_EQ(read_file(checkpoint_path(dir, 8)), read_file(checkpoint_path(whole, 8)));
  }
}

// Worker 1 has none, and looks for one that shows what the others' are like.
TEST(WorkersTraining, AStopReachesAWorkerThatLooksForABatchOfOthers) {
  TemporaryFolder folder;
  for (int hearing : {0, 1}) {
    std::string dir = folder / text(hearing);
    ASSERT_NO_FATAL_FAILURE(expect_stopped_where_it_waits(dir, "for_others", hearing));
    EXPECT_TRUE(list_checkpoints(dir).empty());
  }
}

TEST(WorkersTraining, DifferentDataWhereAllShareOneBatchAreAnError) {
  TemporaryFolder folder;
  std::string dir = folder / "model";
  EXPECT_NE(Job(2).start(dir, "different", "1", 8).wait(), 0);
  for (const char* rank : {"0", "1"})
    EXPECT_THAT(content(dir + ".error_" + rank),
                AllOf(HasSubstr("worker 1 has read another batch than worker 0"),
                      HasSubstr("(in training step 1)")));
}

// The number that random_normal() in scope `noise` draws for the only element of a row at step 0.
double noise_of(std::int64_t row) {
  Graph graph;
  std::uint64_t stream = (Scope(graph) / "noise").next_stream();
  RandomBlock block{.key = philox_key(RunConfig().seed, stream),
                    .low = static_cast<std::uint64_t>(row) << 32};
  return static_cast<float>(normals(block.words())[0]);
}

// The second of two workers counts from 2^31.
TEST(WorkersTraining, NoTwoRowsOfAnEvaluationDrawTheSame) {
  TemporaryFolder folder;
  std::string dir = folder / "model";
  ASSERT_EQ(Job(2).start(dir, "per_worker", "1", 1).wait(), 0) << content(dir + ".log");
  double sum = 0;
  for (std::int64_t row = 0; row < 6; ++row) sum += noise_of(row);
  for (std::int64_t row = 0; row < 5; ++row) sum += noise_of((std::int64_t{1} << 31) + row);
  for (const char* rank : {"0", "1"})
    EXPECT_NEAR(std::stod(content(dir + ".noise_" + rank)), sum / 11, 1e-7);
}

TEST(WorkersTraining, VariablesOnTheFirstTowerOfEachWorker) {
  NamedArrays job = trained_by(Job(2), BatchPolicy::global, "2 central", 20);
  expect_identical(job, trained_by(Job(2), BatchPolicy::global, "2", 20));
}

TEST(WorkersTraining, GpusOfSeveralProcessesGiveTheBitsOfAsManyInOne) {
  expect_identical(trained_by(Job(2), BatchPolicy::global, "1 gpu", 12),
                   trained_alone(BatchPolicy::global, "2 gpu", 12));
  expect_identical(trained_by(Job(3), BatchPolicy::per_worker, "1 gpu", 12),
                   trained_alone(BatchPolicy::per_tower, "3 gpu", 12));
}

void kill_workers(const std::string& towers, int kills) {
  constexpr std::int64_t last_step = 60;
  TemporaryFolder folder;
  std::string whole = folder / "whole", killed = folder / "killed";
  Job job(3);
  ASSERT_EQ(job.start(whole, "per_worker", towers, last_step).wait(), 0) << content(whole + ".log");

  auto newest = [&] {
    auto files = list_checkpoints(killed);
    return files.empty() ? -1 : files.back().step;
  };
  PhiloxStream random(philox_key(1, "moments"));
  for (int kill = 0; kill < kills; ++kill) {
    int victim = static_cast<int>(random.below(3));
    for (int rank = 0; rank < 3; ++rank) {
      std::filesystem::remove(killed + ".pid_" + text(rank));
      std::filesystem::remove(killed + ".error_" + text(rank));
    }
    std::int64_t before = newest();
    MpiJob running = job.start(killed, "per_worker", towers, last_step, 5, true);
    while (running.running() && newest() <= before)
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    std::this_thread::sleep_for(std::chrono::microseconds(random.below(20'000)));
    ASSERT_EQ(
        ::kill(static_cast<pid_t>(std::stol(content(killed + ".pid_" + text(victim)))), SIGKILL),
        0);
    running.wait();
    for (int rank = 0; rank < 3; ++rank) {
      if (rank == victim) continue;
      EXPECT_THAT(content(killed + ".error_" + text(rank)),
                  HasSubstr(concat("worker ", victim, " of 3")));
    }
  }
  ASSERT_LT(newest(), last_step);
  ASSERT_EQ(job.start(killed, "per_worker", towers, last_step).wait(), 0)
      << content(killed + ".log");
  EXPECT_EQ(read_file(checkpoint_path(killed, last_step)),
            read_file(checkpoint_path(whole, last_step)));
  EXPECT_EQ(content(killed + ".loss_1"), content(whole + ".loss_1"));
}

TEST(WorkersTraining, TenKillsLeaveNoTrace) { kill_workers("1", 10); }
TEST(WorkersTraining, KillsOfWorkersWithGpusLeaveNoTrace) { kill_workers("1 gpu", 3); }

}  // namespace
}  // namespace belfry
