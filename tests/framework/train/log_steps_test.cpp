#include <gmock/gmock.h>

#include <map>

#include "belfry/framework/base/log.h"
#include "belfry/framework/train/built_in_hooks.h"

namespace belfry {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

struct Context final : HookContext {
  std::int64_t step() const override { return 0; }
  bool data_ended() const override { return false; }
  const RunConfig& config() const override { fail("there is no configuration"); }
  const std::string& model_dir() const override { fail("there is no folder"); }
  Variables& variables() override { fail("there are no variables"); }
  bool is_chief() const override { return chief; }
  void request_stop(std::string) override { fail("nobody may stop"); }
  std::string save_checkpoint() override { fail("nobody may save"); }
  bool chief = true;
};

struct LogSteps : testing::Test {
  LogSteps()
      : previous(
          set_log_sink([this](LogLevel, std::string_view line) { lines.emplace_back(line); })) {}
  ~LogSteps() override { set_log_sink(previous); }

  void run(std::int64_t steps, const StepTimes& times) {
    auto hook = log_steps(Steps(2), [this] { return now; });
    hook->begin(context);
    for (std::int64_t step = 1; step <= steps; ++step) {
      now += 0.25 * static_cast<double>(step) + pauses[step];
      context.add_pause(pauses[step]);
      hook->after_step({.context = context,
                        .step = step,
                        .loss = 1.5,
                        .rows = 6,
                        .input_wait_seconds = 0.125,
                        .times = times});
    }
  }

  Context context;
  double now = 1000;
  std::map<std::int64_t, double> pauses;  // in seconds, before the end of a step
  std::vector<std::string> lines;
  LogSink previous;
};

// Two steps in 1/4 + 1/2 s, two in 3/4 + 1 s.
TEST_F(LogSteps, SpeedAndSharesAreThoseSinceTheLastLine) {
  run(5, {.compute = 0.15, .exposed_reduction = 0.03, .hidden_reduction = 0.06, .apply = 0.075});
  EXPECT_THAT(lines, ElementsAre("step 2: loss = 1.5, 2.7 steps/s, 16 examples/s, input 33%, "
                                 "compute 40%, reduce 8% (+16% hidden), apply 20%",
                                 "step 4: loss = 1.5, 1.1 steps/s, 7 examples/s, input 14%, "
                                 "compute 17%, reduce 3% (+7% hidden), apply 9%"));
}

// The same steps, with an evaluation of 6 s before the second and one of 5 s in the fourth.
TEST_F(LogSteps, PausesAreNoTimeOfSteps) {
  pauses = {{2, 6}, {4, 5}};
  run(4, {.compute = 0.15, .apply = 0.075});
  EXPECT_THAT(lines, ElementsAre("step 2: loss = 1.5, 2.7 steps/s, 16 examples/s, input 33%, "
                                 "compute 40%, apply 20%",
                                 "step 4: loss = 1.5, 1.1 steps/s, 7 examples/s, input 14%, "
                                 "compute 17%, apply 9%"));
}

TEST_F(LogSteps, OnlyTheChiefLogs) {
  context.chief = false;
  run(4, {});
  EXPECT_THAT(lines, IsEmpty());
}

}  // namespace
}  // namespace belfry
