// Bytes that workers of a real job hand to each other.

#include "scenario.h"

namespace belfry {
namespace {

using ::testing::AnyOf;
using ::testing::ElementsAre;

TEST(MpiWorkers, ExchangeBytes) {
  JobResult job = run_job("exchange", 3);
  EXPECT_EQ(job.status, 0) << job.log;
  std::string gathered =
      "\n199 199.25 199.5 10:0 11:1 12:0\nbroadcast 0\nbroadcast 5\nbroadcast 16777219";
  EXPECT_THAT(job.texts,
              ElementsAre("worker 0 of 3 on host chief" + gathered
                              + "\ngathered 0\ngathered 9000000\ngathered 18000000",
                          "worker 1 of 3 on host" + gathered, "worker 2 of 3 on host" + gathered))
      << job.log;
}

TEST(MpiWorkers, NoticeThatTheyDoNotDoTheSame) {
  JobResult job = run_job("different", 3, true);
  auto sent = [](int other, const char* bytes, int me, int expected) {
    return concat("worker ", other, " of 3 sent ", bytes, " bytes where worker ", me,
                  " of 3 expected ", expected,
                  "; all workers must make the same calls in the same order");
  };
  EXPECT_THAT(job.texts, ElementsAre(sent(2, "more", 0, 4), sent(2, "more", 1, 4),
                                     AnyOf(sent(0, "4", 2, 8), sent(1, "4", 2, 8))))
      << job.log;
}

}  // namespace
}  // namespace belfry
