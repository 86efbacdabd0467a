// Reductions over the workers of a real job.

#include "scenario.h"

namespace belfry {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;

TEST(MpiCommunicator, GivesTheBitsOfOneProcess) {
  JobResult job = run_job("reduce", 3);
  EXPECT_EQ(job.status, 0) << job.log;
  EXPECT_THAT(job.texts, Each("f32: same same\nf64: same same\ni64: same same\nbf16: same same\n"
                              "f16: same same\ni32: same same\n0 3"))
      << job.log;
}

TEST(MpiCommunicator, JoinsTowersOfAllWorkers) {
  JobResult job = run_job("towers", 2);
  EXPECT_EQ(job.status, 0) << job.log;
  std::string sums = "2: ";
  for (int bucket = 0; bucket < 20; ++bucket) sums += text(bucket * 40'000 + 1111) + " ";
  EXPECT_THAT(job.texts, Each(sums + "in both")) << job.log;
}

TEST(MpiCommunicator, NamesBucketsThatDoNotFit) {
  JobResult job = run_job("mismatch", 3, true);
  std::string
      ten = " reduces bucket 2 of adam (10 x f32 in 1 segment)",
      twelve = "worker 2 of 3 reduces bucket 2 of adam (12 x f32 in 1 segment)",
      rule =
          "; a model_fn must build the same model in every worker, and hooks choose the same "
          "updates";
  EXPECT_THAT(job.texts, ElementsAre("worker 0 of 3" + ten + " while " + twelve + rule,
                                     "worker 1 of 3" + ten + " while " + twelve + rule,
                                     twelve + " while worker 0 of 3" + ten + rule))
      << job.log;
}

TEST(MpiCommunicator, ComparesEachSegmentAndTheName) {
  for (const char* scenario : {"segments", "names"}) {
    JobResult job = run_job(scenario, 2, true);
    EXPECT_THAT(job.texts, Each(::testing::HasSubstr("must build the same model"))) << job.log;
  }
}

}  // namespace
}  // namespace belfry
