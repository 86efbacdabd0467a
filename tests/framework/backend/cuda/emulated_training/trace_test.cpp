// Steps of which every instruction is timed, on a device that runs behind the host.

#include <algorithm>
#include <set>

#include "../emulated/emulated_api.h"
#include "../training/training_on_gpu.h"

namespace belfry {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::IsSupersetOf;

/// Writes down what happens when; asks for traces of these steps.
class Tracer final : public Hook {
 public:
  explicit Tracer(std::vector<std::int64_t> steps) : steps_(std::move(steps)) {}
  void before_step(StepRequest& request) override {
    events.push_back(concat("begin ", request.step + 1));
    request.trace = std::count(steps_.begin(), steps_.end(), request.step + 1) > 0;
  }
  void after_step(const StepResult& result) override {
    events.push_back(concat("end ", result.step));
    losses.push_back(result.loss);
    traces.emplace_back(result.trace.begin(), result.trace.end());
    started.push_back(result.start_seconds);
    launches.push_back(cuda::emulated_api().counts().launches);
  }
  std::vector<std::string> events;
  std::vector<double> losses, started, launches;
  std::vector<std::vector<TraceEntry>> traces;  // by step
  int replays = 0;
  std::vector<std::string> ranges;

 private:
  std::vector<std::int64_t> steps_;
};

// One shape of batches, so one plan.
std::shared_ptr<Tracer> train_traced(std::vector<std::int64_t> steps, std::int64_t last) {
  TemporaryFolder folder;
  Estimator estimator({.model_fn = falling, .model_dir = folder.path(), .run = on("cuda")});
  auto& api = cuda::emulated_api();
  auto tracer = std::make_shared<Tracer>(std::move(steps));
  api.take_ranges();
  int before = api.counts().replays;
  estimator.train(over_and_over({one_point()}), {.max_steps = last, .hooks = {tracer}});
  tracer->replays = api.counts().replays - before;
  tracer->ranges = api.take_ranges();
  return tracer;
}

TEST(EmulatedTrace, TracedStepsAreLaunchedOneByOneAndSeenAtOnce) {
  auto plain = train_traced({}, 7), traced = train_traced({4, 5}, 7);
  EXPECT_EQ(traced->losses, plain->losses);
  EXPECT_EQ(plain->replays, 6);
  EXPECT_EQ(traced->replays, 4);
  EXPECT_THAT(plain->traces, Each(IsEmpty()));
  EXPECT_THAT(traced->events,
              ElementsAre("begin 1", "begin 2", "end 1", "begin 3", "end 2", "begin 4", "end 3",
                          "end 4", "begin 5", "end 5", "begin 6", "begin 7", "end 6", "end 7"));
}

TEST(EmulatedTrace, APlanIsCapturedInTheSecondStepThatIsNotTraced) {
  EXPECT_EQ(train_traced({1, 2}, 6)->replays, 3);
  EXPECT_EQ(train_traced({2}, 6)->replays, 4);
}

// An emulated GPU takes a microsecond for each launch.
TEST(EmulatedTrace, TimesAreTheDevices) {
  auto tracer = train_traced({3, 4}, 5);
  double launches = tracer->launches[3] - tracer->launches[2];  // of step 4
  EXPECT_GE(launches, 4);
  for (std::size_t step : {2, 3}) {
    std::vector<std::string> ops;
    double until = tracer->started[step], work = 0;
    for (const TraceEntry& entry : tracer->traces[step]) {
      EXPECT_GE(entry.start_seconds, until - 1e-9) << entry.op;  // rounding of the host's clock
      until = entry.start_seconds + entry.seconds;
      work += entry.seconds;
      ops.emplace_back(entry.op);
    }
    EXPECT_THAT(ops, ElementsAre("mul", "sum", "sum", "sgd_update"));
    EXPECT_NEAR(work, launches * 1e-6, 1e-8);
  }
  for (std::size_t step : {0, 1, 4}) EXPECT_THAT(tracer->traces[step], IsEmpty());
}

// The first step runs as it is, the second is captured, the others are replayed.
TEST(EmulatedTrace, RangesAreNamedByScopesOrOps) {
  EXPECT_THAT(train_traced({}, 6)->ranges,
              ElementsAre("mul", "sum", "sum", "sgd", "mul", "sum", "sum", "sgd"));
  EXPECT_EQ(cuda::emulated_api().open_ranges(), 0);
}

// Steps that are captured by nobody, whose devices wait for each other.
TEST(EmulatedTrace, HasAllTowersAndAllDevicesOfASplitModel) {
  RunConfig towers = on("cuda"), split = towers;
  towers.capture_steps = false;
  towers.devices = {"cuda:0", "cuda:1"};
  split.devices = {"cuda:0+cuda:1"};
  split.split = auto_split(2);
  for (const RunConfig& config : {towers, split}) {
    TemporaryFolder folder;
    Estimator estimator({.model_fn = resuming_model, .model_dir = folder.path(), .run = config});
    auto tracer = std::make_shared<Tracer>(std::vector<std::int64_t>{2});
    estimator.train(digits(), {.max_steps = 3, .hooks = {tracer}});
    EXPECT_EQ(tracer->losses, train_on(config, 3).losses);
    std::set<std::pair<int, int>> places;
    std::set<InstructionRole> roles;
    for (const TraceEntry& entry : tracer->traces[1]) {
      places.insert({entry.tower, entry.device});
      roles.insert(entry.role);
    }
    using Role = InstructionRole;
    if (config.devices.size() == 1) {
      EXPECT_THAT(places, ElementsAre(std::pair(0, 0), std::pair(0, 1)));
      EXPECT_THAT(roles, IsSupersetOf({Role::compute, Role::send, Role::receive}));
    } else {
      EXPECT_THAT(places, ElementsAre(std::pair(0, 0), std::pair(1, 0)));
      EXPECT_THAT(roles, IsSupersetOf({Role::compute, Role::start, Role::finish}));
    }
  }
}

// Summaries wait for the step before, whose hooks may save: no batch of a later step is taken then.
TEST(EmulatedTrace, BeforeSummariesACheckpointIsFromBeforeTheBatch) {
  struct Saves final : Hook {
    void before_step(StepRequest& request) override { request.summaries = request.step == 1; }
    void after_step(const StepResult& result) override {
      if (result.step == 1) path = result.context.save_checkpoint();
    }
    std::string path;
  };
  ModelFn showing = [](Scope s, const Batch& batch, Mode mode) {
    EstimatorSpec spec = falling(std::move(s), batch, mode);
    spec.summaries = {scalar_summary("x", mean(batch["x"]))};
    return spec;
  };
  TemporaryFolder folder;
  RunConfig config = on("cuda");
  config.save_checkpoint = std::nullopt;
  Estimator estimator({.model_fn = showing, .model_dir = folder.path(), .run = config});
  auto saves = std::make_shared<Saves>();
  estimator.train(over_and_over({one_point()}), {.max_steps = 3, .hooks = {saves}});
  Checkpoint saved = load_checkpoint(saves->path);
  EXPECT_EQ(saved.step, 1);
  EXPECT_THAT(saved.input, ::testing::HasSubstr("1"));
  EXPECT_THAT(saved.input, ::testing::Not(::testing::HasSubstr("2")));
}

}  // namespace
}  // namespace belfry
