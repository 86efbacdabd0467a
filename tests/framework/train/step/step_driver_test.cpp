#include "belfry/framework/train/step/step_driver.h"

#include "../comparing.h"
#include "belfry/framework/train/step/session.h"

namespace belfry {
namespace {

using ::testing::ElementsAre;

// Rows of x with the numbers first, first + 1, ...
Features counted(int first, int count) {
  std::vector<float> x;
  for (int i = 0; i < count; ++i) x.push_back(static_cast<float>(first + i));
  return points(x, x);
}

std::vector<std::int64_t> rows_of_towers(const Replicas& replicas) {
  std::vector<std::int64_t> rows;
  for (int t = 0; t < replicas.size(); ++t) rows.push_back(replicas.shard(t).rows.count);
  return rows;
}

struct NoContext final : HookContext {
  std::int64_t step() const override { return 0; }
  bool data_ended() const override { return false; }
  const RunConfig& config() const override { return run; }
  const std::string& model_dir() const override { return dir; }
  Variables& variables() override { fail("no variables"); }
  void request_stop(std::string) override {}
  std::string save_checkpoint() override { return {}; }

  RunConfig run;
  std::string dir;
};

// Training of falling(), whose variable w is 8 at first and loses a quarter of the mean of x.
struct Driven {
  explicit Driven(const InputFn& input, RunConfig config = on_cpus(2, 1))
      : session(falling, config),
        driver(session, {}, {}, input, {},
               {.stopped_reading = [this] { return stops; },
                .report = [this](const DrivenStep& step) { seen.push_back(step); }}) {
    session.begin_training();
  }
  StepDriver::Read next(UpdateSet chosen = {0}) {
    StepRequest request{
        .context = context, .step = session.state()->step, .updates = 1, .chosen = chosen};
    return driver.next(request);
  }
  double w() { return session.state()->variables().read("w").item(); }

  NoContext context;
  Session session;
  bool stops = false;
  std::vector<DrivenStep> seen;
  StepDriver driver;
};

TEST(StepDriver, TheFirstBatchIsThatOfTheFirstStep) {
  Driven d(once({counted(1, 3), counted(9, 2)}));
  EXPECT_EQ(d.driver.first(), StepDriver::Read::batch);
  EXPECT_THAT(rows_of_towers(d.driver.replicas()), ElementsAre(2, 1));
  d.driver.prepare();
  EXPECT_EQ(d.session.state()->step, 0);
  EXPECT_EQ(d.next(), StepDriver::Read::batch);
  d.driver.settle();
  EXPECT_EQ(d.w(), 7.5);             // the mean of 1, 2, 3 is 2
  EXPECT_EQ(d.seen.at(0).loss, 16);  // 8 times that
  EXPECT_EQ(d.next(), StepDriver::Read::batch);
  EXPECT_EQ(d.next(), StepDriver::Read::end);
  EXPECT_EQ(d.w(), 5.125);  // the mean of 9 and 10 is 9.5
  ASSERT_EQ(d.seen.size(), 2u);
  EXPECT_EQ(std::tuple(d.seen[0].step, d.seen[0].rows), std::tuple(1, 3));
  EXPECT_EQ(std::tuple(d.seen[1].step, d.seen[1].rows), std::tuple(2, 2));
  EXPECT_EQ(d.seen[1].chosen, UpdateSet{0});
  EXPECT_EQ(d.seen[1].applied, UpdateSet{0});
}

TEST(StepDriver, AStepIsReportedOnceAndJudgedByWhoHearsOfIt) {
  Driven d(over_and_over({counted(1, 2)}));
  d.driver.first();
  d.driver.prepare();
  d.next();
  EXPECT_EQ(d.driver.under_way(), 1);
  d.driver.settle();
  d.driver.settle();
  EXPECT_EQ(d.seen.size(), 1u);
  EXPECT_EQ(d.driver.running_step, 1);
  d.driver.judged();
  EXPECT_EQ(d.driver.under_way(), 0);
}

TEST(StepDriver, UpdatesThatAreNotChosenDoNotRun) {
  Driven d(over_and_over({counted(1, 2)}));
  d.driver.first();
  d.driver.prepare();
  EXPECT_EQ(d.next({}), StepDriver::Read::batch);
  d.driver.settle();
  EXPECT_EQ(d.w(), 8);
  EXPECT_EQ(d.session.state()->step, 1);
  EXPECT_EQ(d.seen[0].applied, UpdateSet());
}

TEST(StepDriver, AStopLeavesTheBatch) {
  Driven d(once({counted(1, 2)}));
  d.stops = true;
  EXPECT_EQ(d.driver.first(), StepDriver::Read::stopped);
  EXPECT_EQ(d.driver.replicas().size(), 0);
}

TEST(StepDriver, DataWithoutABatchAreAtTheirEnd) {
  Driven d(once({}));
  EXPECT_EQ(d.driver.first(), StepDriver::Read::end);
}

TEST(StepDriver, EveryTowerHasABatchWhereThePolicySaysSo) {
  RunConfig config = on_cpus(2, 1);
  config.batch = BatchPolicy::per_tower;
  Driven d(once({counted(1, 2), counted(4, 3)}), config);
  EXPECT_EQ(d.driver.first(), StepDriver::Read::batch);
  EXPECT_THAT(rows_of_towers(d.driver.replicas()), ElementsAre(2, 3));
  EXPECT_EQ(d.driver.replicas().rows().all, 5);
}

TEST(StepDriver, BatchesThatAreHandedInRunAtOnce) {
  Session session(linear, on_cpus(2, 1));
  StepDriver& driver = session.driver(Mode::evaluate);
  EXPECT_EQ(&driver, &session.driver(Mode::evaluate));
  driver.build(counted(1, 1));
  EXPECT_THAT(rows_of_towers(driver.replicas()), ElementsAre(1));  // the other has no part
  EXPECT_TRUE(session.state()->variables().names().empty());
  driver.run(counted(1, 3), 0);
  EXPECT_THAT(rows_of_towers(driver.replicas()), ElementsAre(2, 1));
  // The line is 0 everywhere: the errors are the squares of 1 and 2, and of 3.
  EXPECT_EQ(driver.replicas().executable(0).output(0).at(0), 2.5);
  EXPECT_EQ(driver.replicas().executable(1).output(0).at(0), 9);
  driver.build_without_rows(counted(1, 1));
  EXPECT_EQ(driver.replicas().rows().all, 0);
}

}  // namespace
}  // namespace belfry
