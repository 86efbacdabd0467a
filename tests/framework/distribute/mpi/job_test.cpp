// Workers that hang, die, fail or leave, in real jobs.

#include "scenario.h"

namespace belfry {
namespace {

using ::testing::ElementsAre;
using ::testing::StartsWith;

TEST(MpiJob, NamesAWorkerThatDoesNotCome) {
  JobResult job = run_job("absent", 3, true);
  std::string late =
      "bucket 2 of adam: worker 1 of 3 did not take part within 2 s; it may have died or hung";
  EXPECT_THAT(job.texts, ElementsAre(late, " 3 cannot go on: " + late, late)) << job.log;
}

TEST(MpiJob, NamesAWorkerThatWasKilled) {
  JobResult job = run_job("killed", 3, true);
  std::string late =
      "all_gather: worker 1 of 3 did not take part within 2 s; it may have died or hung";
  EXPECT_THAT(job.texts, ElementsAre(late + "\nthen: " + late, "nothing", late + "\nthen: " + late))
      << job.log;
}

TEST(MpiJob, AFailureThatIsAnnouncedEndsTheWaitsOfAll) {
  JobResult job = run_job("announce", 3, true);
  std::string failed = "worker 2 of 3 cannot go on: the disk is full";
  EXPECT_THAT(job.texts, ElementsAre(failed + "\nthen: " + failed, failed + "\nthen: " + failed,
                                     "the disk is full"))
      << job.log;
}

TEST(MpiJob, WhatAWorkerDidBeforeItFailedCounts) {
  JobResult job = run_job("part", 2, true);
  EXPECT_THAT(job.texts,
              ElementsAre("failed", "1 byte, 7, then worker 0 of 2 cannot go on: the disk is full"))
      << job.log;
}

TEST(MpiJob, NamesAWorkerThatEnded) {
  JobResult job = run_job("leave", 3, true);
  std::string ended = ": worker 1 of 3 has ended; all workers must make the same calls";
  EXPECT_EQ(job.texts[1], "ended") << job.log;
  // Whichever of the others notices first tells the second.
  EXPECT_THAT(job.texts[0] + job.texts[2], ::testing::HasSubstr("all_gather" + ended)) << job.log;
}

TEST(MpiJob, AWorkerMayEndByExit) {
  JobResult job = run_job("exits", 3);
  EXPECT_EQ(job.status, 0) << job.log;
  EXPECT_THAT(job.texts, ElementsAre("worked on", "exits", "worked on")) << job.log;
}

TEST(MpiJob, WhoAsksForTheWorkersKeepsTheirTimeOut) {
  JobResult job = run_job("asks", 2, true);
  EXPECT_THAT(job.texts[0], StartsWith("all_gather: worker 1 of 2 did not take part within 1 s"))
      << job.log;
}

}  // namespace
}  // namespace belfry
