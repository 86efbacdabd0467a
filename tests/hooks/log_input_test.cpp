#include "belfry/hooks/log_input.h"

#include <gmock/gmock.h>

#include "hooks_support.h"

namespace belfry::hooks {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

struct WithInput : FakeContext {
  std::vector<InputStage> input_stages() const override { return stages; }
  std::vector<InputStage> stages{{.name = "batch", .elements = 7}};
};

struct LogInputTest : testing::Test {
  void steps(Hook& hook, int count) {
    hook.begin(context);
    for (int i = 0; i < count; ++i) context.finish_step(hook, {.context = context});
  }
  WithInput context;
  CapturedLog log;
};

TEST_F(LogInputTest, LogsByCadenceAndAtTheEnd) {
  auto hook = log_input({.every = Steps(3)});
  steps(*hook, 7);
  ASSERT_THAT(log.lines, SizeIs(2));
  EXPECT_THAT(log.lines[0], HasSubstr("input after step 3:\nstage"));
  EXPECT_THAT(log.lines[0], HasSubstr("batch          7"));
  EXPECT_THAT(log.lines[1], HasSubstr("input after step 6:"));
  hook->end(context, Outcome::finished);
  EXPECT_THAT(log.lines, SizeIs(3));
}

TEST_F(LogInputTest, HasNothingToSayOfOtherStreams) {
  context.stages.clear();
  auto hook = log_input({.every = Steps(1)});
  steps(*hook, 3);
  hook->end(context, Outcome::finished);
  EXPECT_THAT(log.lines, IsEmpty());
}

TEST_F(LogInputTest, RefusesACadenceBelowOne) {
  EXPECT_THROW(log_input({.every = Steps(0)}), Error);
}

}  // namespace
}  // namespace belfry::hooks
