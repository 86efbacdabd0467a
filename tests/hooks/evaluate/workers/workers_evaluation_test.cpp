#include "../../../framework/distribute/mpi/mpirun.h"
#include "belfry/framework/train/checkpoint.h"

namespace belfry {
namespace {

std::string content(const std::string& path) {
  return std::filesystem::exists(path) ? read_file(path) : "";
}

void run_two(const std::string& what, const std::string& dir) {
  MpiJob job(BELFRY_EVALUATE_WORKER, {what, dir}, 2, dir + ".log");
  EXPECT_EQ(job.wait(), 0) << content(dir + ".log") << content(dir + ".error_0")
                           << content(dir + ".error_1");
}

// After n steps w is 8 - n / 4. The chief's |w - 7| is the least at step 4, the other's |3 w - 7|
// near 0 at steps 22 and 23, their mean 2.5 at both of these and 3 and 3.5 at steps 24 and 25: the
// third in vain. Checkpoints come at steps 10, 20 and 25, and where the mean is among the best two
// so far: at each step up to 22, and at 23. Those are not evaluated as new ones: steps 10 and 20
// are, before the next, and the end. Each input is opened once more, to try it out.
TEST(WorkersEvaluation, AllStopTogetherByWhatTheyFindTogether) {
  TemporaryFolder folder;
  std::string dir = folder / "model";
  run_two("train", dir);
  for (const char* rank : {"0", "1"})
    EXPECT_EQ(content(dir + ".found_" + rank),
              "evaluation `steps`: no better distance in 3 evaluations, the best distance was 2.5 "
              "at step 22; 25; 22: 2.5; 26, 4, 2");
  std::vector<std::int64_t> best;
  for (const CheckpointFile& file : list_checkpoints(dir + "/best_steps"))
    best.push_back(file.step);
  EXPECT_EQ(best, (std::vector<std::int64_t>{22, 23}));
}

// Before the first step, although what is saved later waits for one.
TEST(WorkersEvaluation, AllEvaluateTheCheckpointThatTheyGoOnFrom) {
  TemporaryFolder folder;
  std::string dir = folder / "model";
  run_two("go_on", dir);
  EXPECT_EQ(content(dir + ".found_0"), "3 at 10 12");  // once to try it out
  EXPECT_EQ(content(dir + ".found_1"), "3 at ");
}

TEST(WorkersEvaluation, NoneStopsAlone) {
  TemporaryFolder folder;
  std::string dir = folder / "model";
  run_two("stop", dir);
  for (const char* rank : {"0", "1"})
    EXPECT_EQ(content(dir + ".found_" + rank),
              "evaluate: one of several workers cannot stop alone; set `steps` in place of `stop`");
}

// The one worker that is asked tells the other, and both save what they have.
TEST(WorkersEvaluation, AStopOfOneReachesTheEvaluationOfAll) {
  for (std::string kind : {"signal", "control", "token"}) {
    TemporaryFolder folder;
    std::string dir = folder / "model";
    run_two("stop_by_" + kind, dir);
    for (const char* rank : {"0", "1"})
      EXPECT_EQ(content(dir + ".found_" + rank), "stopped 2 0") << kind;
    EXPECT_EQ(list_checkpoints(dir).back().step, 2) << kind;
  }
}

TEST(WorkersEvaluation, AStopOfOneReachesTheEvaluationOfATrainingThatIsDone) {
  for (std::string kind : {"signal", "control", "token"}) {
    TemporaryFolder folder;
    std::string dir = folder / "model";
    run_two("stop_idle_by_" + kind, dir);
    for (const char* rank : {"0", "1"})
      EXPECT_EQ(content(dir + ".found_" + rank), "stopped 2 0") << kind;
  }
}

TEST(WorkersEvaluation, AFailureOfOneCostsNoStep) {
  for (const char* what : {"fail", "fail_validate"}) {
    TemporaryFolder folder;
    std::string dir = folder / "model";
    MpiJob job(BELFRY_EVALUATE_WORKER, {what, dir}, 2, dir + ".log", true);
    job.wait();
    for (const char* rank : {"0", "1"})
      EXPECT_THAT(content(dir + ".error_" + rank), testing::HasSubstr("no such file")) << what;
    EXPECT_EQ(list_checkpoints(dir).back().step, 2) << what;
  }
}

TEST(WorkersEvaluation, AFailureOfTheChiefCostsNoStep) {
  for (auto [what, told, owner] : {std::tuple("receive", "no paper", "evaluation `t`"),
                                   std::tuple("wanted", "no answer", "evaluation `t`"),
                                   std::tuple("samples", "no frame", "samples")}) {
    TemporaryFolder folder;
    std::string dir = folder / "model";
    MpiJob job(BELFRY_EVALUATE_WORKER, {concat("fail_chief_", what), dir}, 2, dir + ".log", true);
    job.wait();
    EXPECT_THAT(content(dir + ".error_0"), testing::HasSubstr(told));
    EXPECT_EQ(content(dir + ".error_1"),
              concat(owner, ": the chief has failed (after training step 2)"));
    EXPECT_EQ(list_checkpoints(dir).back().step, 2) << what;
  }
}

}  // namespace
}  // namespace belfry
