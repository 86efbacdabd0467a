#include "belfry/hooks/profile.h"

#include <map>
#include <nlohmann/json.hpp>
#include <utility>

#include "../framework/train/training_testing.h"
#include "belfry/framework/base/file.h"
#include "hooks_support.h"

namespace belfry::hooks {
namespace {

using nlohmann::json;
using testing::AllOf;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::IsSupersetOf;
using testing::SizeIs;

std::vector<json> select(const json& events, const std::string& key, const json& value) {
  std::vector<json> out;
  for (const json& event : events)
    if (event.at(key) == value) out.push_back(event);
  return out;
}

struct ProfileTest : testing::Test {
  // One step, from the request to the result; whether its trace was asked for.
  bool step(Hook& hook, StepResult result) {
    StepRequest request{context, context.finished};
    hook.before_step(request);
    context.finish_step(hook, std::move(result));
    return request.trace;
  }
  bool step(Hook& hook) { return step(hook, {.context = context}); }
  json trace() const { return json::parse(read_file(path)); }

  FakeContext context;
  CapturedLog log;
  TemporaryFolder folder;
  std::string path = folder / "trace.json";
};

TEST_F(ProfileTest, TracesTheStepsAskedForAndNoOthers) {
  context.finished = 100;  // resumed: steps count from here
  auto hook = profile({.path = path, .first_step = 2, .steps = 2});
  hook->begin(context);
  std::vector<bool> asked;
  for (int i = 0; i < 5; ++i) asked.push_back(step(*hook));
  EXPECT_THAT(asked, ElementsAre(false, true, true, false, false));
  EXPECT_FALSE(hook->needs_result_now(context, 101));
  EXPECT_THAT(select(trace(), "name", "step 102"), SizeIs(1));
  EXPECT_THAT(select(trace(), "name", "step 103"), SizeIs(1));
  EXPECT_THAT(select(trace(), "name", "input wait"), SizeIs(2));
  EXPECT_THAT(select(trace(), "name", "between steps"), SizeIs(2));
  EXPECT_THAT(log.lines, ElementsAre("profile: 2 steps are in `" + path + "`"));
}

// A device that runs behind the host tells of the step before when the traced one is asked for.
TEST_F(ProfileTest, AResultThatComesLateIsNotTaken) {
  auto hook = profile({.path = path, .first_step = 2, .steps = 1});
  hook->begin(context);
  StepRequest first{context, 0}, second{context, 1};
  hook->before_step(first);
  hook->before_step(second);
  hook->after_step({.context = context, .step = 1});
  hook->after_step({.context = context, .step = 2});
  hook->end(context, Outcome::finished);
  EXPECT_THAT(select(trace(), "name", "step 1"), IsEmpty());
  EXPECT_THAT(select(trace(), "name", "step 2"), SizeIs(1));
}

TEST_F(ProfileTest, EventsAreInMicrosecondsFromTheFirstWaitForInput) {
  using Role = InstructionRole;
  std::vector<TraceEntry> entries{{.op = "conv2d",
                                   .scope = "body/down1",
                                   .phase = Phase::forward,
                                   .start_seconds = 100.125,
                                   .seconds = 0.0625},
                                  {.op = "all_reduce",
                                   .scope = "",
                                   .phase = Phase::backward,
                                   .role = Role::start,
                                   .tower = 1,
                                   .device = 2,
                                   .start_seconds = 100.25,
                                   .seconds = 0}};
  auto hook = profile({.path = path, .first_step = 1, .steps = 1});
  hook->begin(context);
  step(*hook, {.context = context,
               .loss = 0.5,
               .rows = 8,
               .step_seconds = 0.25,
               .input_wait_seconds = 0.5,
               .start_seconds = 100,
               .trace = entries});
  hook->end(context, Outcome::finished);
  auto events = select(trace(), "ph", "X");
  ASSERT_THAT(events, SizeIs(5));
  EXPECT_EQ(events[0], json::parse(R"({"name": "input wait", "cat": "host", "ph": "X", "ts": 0.0,
      "dur": 500000.0, "pid": 0, "tid": 0, "args": {"step": 1}})"));
  EXPECT_EQ(events[1], json::parse(R"({"name": "step 1", "cat": "host", "ph": "X", "ts": 500000.0,
      "dur": 250000.0, "pid": 0, "tid": 0, "args": {"rows": 8, "loss": 0.5}})"));
  EXPECT_EQ(events[2], json::parse(R"({"name": "conv2d", "cat": "forward", "ph": "X",
      "ts": 625000.0, "dur": 62500.0, "pid": 1, "tid": 0,
      "args": {"scope": "body/down1", "role": "compute"}})"));
  EXPECT_EQ(events[3], json::parse(R"({"name": "all_reduce", "cat": "backward", "ph": "X",
      "ts": 750000.0, "dur": 0.0, "pid": 2, "tid": 2, "args": {"scope": "", "role": "start"}})"));
  EXPECT_EQ(events[4].at("name"), "between steps");
  EXPECT_EQ(events[4].at("ts"), 750000.0);
}

TEST_F(ProfileTest, PackingIsNamedSo) {
  std::vector<TraceEntry> entries{{.op = "variable", .scope = "a", .role = InstructionRole::pack}};
  auto hook = profile({.path = path, .first_step = 1, .steps = 1});
  hook->begin(context);
  step(*hook, {.context = context, .trace = entries});
  hook->end(context, Outcome::finished);
  EXPECT_THAT(select(trace(), "name", "pack"), SizeIs(1));
  EXPECT_THAT(select(trace(), "name", "variable"), IsEmpty());
}

TEST_F(ProfileTest, RowsHaveNames) {
  std::vector<TraceEntry> entries{{.op = "relu", .scope = "a"},
                                  {.op = "relu", .scope = "b", .device = 1}};
  auto hook = profile({.path = path, .first_step = 1, .steps = 2});
  hook->begin(context);
  for (int i = 0; i < 2; ++i) step(*hook, {.context = context, .trace = entries});
  hook->end(context, Outcome::finished);
  std::vector<std::string> names;
  for (const json& event : select(trace(), "ph", "M"))
    names.push_back(concat(event.at("name").get<std::string>(), " ", event.at("pid").get<int>(),
                           ".", event.at("tid").get<int>(), ": ",
                           event.at("args").at("name").get<std::string>()));
  EXPECT_THAT(names, ElementsAre("process_name 0.0: host", "thread_name 0.0: training",
                                 "process_name 1.0: tower 0", "thread_name 1.0: slot 0",
                                 "thread_name 1.1: slot 1"));
}

TEST_F(ProfileTest, AFileThatCannotBeWrittenIsAnErrorAtTheBeginning) {
  auto hook = profile({.path = folder / "missing/trace.json"});
  EXPECT_THAT(error_of([&] { hook->begin(context); }),
              AllOf(HasSubstr("missing/trace.json"), HasSubstr("No such file")));
  hook->end(context, Outcome::failed);
  EXPECT_THAT(log.lines, IsEmpty());
}

TEST_F(ProfileTest, TrainingThatEndsBeforeLeavesAnEmptyTrace) {
  auto hook = profile({.path = path});
  hook->begin(context);
  for (int i = 0; i < 9; ++i) EXPECT_FALSE(step(*hook));
  hook->end(context, Outcome::finished);
  EXPECT_EQ(trace(), json::array());
  EXPECT_THAT(log.lines,
              ElementsAre("profile: training ended before step 10, so `" + path + "` is empty"));
}

TEST_F(ProfileTest, WhatWasTracedIsWrittenWhenTrainingEndsInTheMiddle) {
  auto hook = profile({.path = path, .first_step = 1, .steps = 10});
  hook->begin(context);
  step(*hook);
  hook->end(context, Outcome::failed);
  EXPECT_THAT(select(trace(), "name", "step 1"), SizeIs(1));
}

TEST_F(ProfileTest, OtherWorkersTraceTheSameStepsAndWriteNothing) {
  context.chief = false;
  auto hook = profile({.path = path, .first_step = 1, .steps = 1});
  hook->begin(context);
  EXPECT_TRUE(step(*hook));
  EXPECT_FALSE(step(*hook));
  hook->end(context, Outcome::finished);
  EXPECT_THAT(folder.names(), IsEmpty());
  EXPECT_THAT(log.lines, IsEmpty());
}

TEST_F(ProfileTest, StepsAreAboveZero) {
  EXPECT_EQ(error_of([] { profile({.first_step = 0}); }),
            "profile: first_step must be at least 1, got 0");
  EXPECT_EQ(error_of([] { profile({.steps = 0}); }), "profile: steps must be at least 1, got 0");
}

struct Trained {
  double kernel = 0;
  json events;
};

Trained train_profiled(std::vector<std::string> devices, VariablePlacement placement) {
  TemporaryFolder folder;
  RunConfig config = quiet();
  config.devices = std::move(devices);
  config.variables = placement;
  Estimator estimator({.model_fn = linear, .model_dir = folder / "model", .run = config});
  std::string path = folder / "trace.json";
  estimator.train(over_and_over({points({1, 1}, {1, 1})}),
                  {.max_steps = 3, .hooks = {profile({path, 2, 1})}});
  return {scalar(estimator, "line/kernel"), json::parse(read_file(path))};
}

// From 0 to 1/2 in the first step, where the fit is perfect.
TEST(ProfileInTraining, HasTheInstructionsOfEveryTowerInTheirOrder) {
  for (auto placement : {VariablePlacement::mirrored, VariablePlacement::central}) {
    Trained run = train_profiled({"cpu:0", "cpu:1"}, placement);
    EXPECT_EQ(run.kernel, 0.5);
    auto events = select(run.events, "ph", "X");
    json step = select(events, "name", "step 2").at(0);
    double begin = step["ts"], end = begin + step["dur"].get<double>();
    std::map<int, std::vector<std::string>> done;  // by tower
    std::map<int, double> until;
    for (const json& event : events) {
      int pid = event["pid"];
      if (pid == 0) continue;
      double start = event["ts"];
      EXPECT_GE(start, std::max(begin, until[pid])) << event;
      until[pid] = start + event["dur"].get<double>();
      EXPECT_LE(until[pid], end + 1e-3) << event;  // a nanosecond of rounding
      done[pid].push_back(concat(event["cat"].get<std::string>(), " ",
                                 event["name"].get<std::string>(), " ",
                                 event["args"]["role"].get<std::string>(), " ",
                                 event["args"]["scope"].get<std::string>()));
    }
    ASSERT_THAT(done, SizeIs(2));
    EXPECT_THAT(
        done[1],
        IsSupersetOf({"forward matmul compute line", "backward matmul compute line",
                      "backward all_reduce start line", "backward all_reduce finish line"}));
    EXPECT_THAT(done[1], Contains("update sgd_update compute sgd").Times(1));
    // Central variables are the first tower's to update; else the towers do the same.
    if (placement == VariablePlacement::central) done[2].push_back("update sgd_update compute sgd");
    EXPECT_EQ(done[1], done[2]);
  }
}

}  // namespace
}  // namespace belfry::hooks
