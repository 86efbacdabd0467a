#include "belfry/framework/train/run/training_plan.h"

#include <algorithm>

#include "../comparing.h"

namespace belfry {
namespace {

using ::testing::Each;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::StartsWith;

struct Planned : ::testing::Test {
  Estimator make(const RunConfig& config, ModelFn model = linear) {
    return Estimator({.model_fn = std::move(model), .model_dir = folder.path(), .run = config});
  }
  TemporaryFolder folder;
  CapturedLog log;
  Features three = points({1, 2, 3}, {2, 4, 6});
  Features five = points({1, 2, 3, 4, 5}, {2, 4, 6, 8, 10});
};

struct AsksForMicroBatches final : Hook {
  int micro_batches() const override { return 2; }
  std::string name() const override { return "two_parts"; }
};

// Each tower has a kernel and a bias, 4 bytes each, whose gradients are one bucket: the bias, made
// last, has its gradient first.
TEST_F(Planned, SaysWhatTrainingWillDo) {
  RunConfig config = on_cpus(2, 1);
  config.memory_limit = Bytes(64 << 20);
  Estimator estimator = make(config);
  std::string plan = estimator.plan(
      once({five}), {.max_steps = 7, .hooks = {std::make_shared<AsksForMicroBatches>()}});
  EXPECT_THAT(plan, HasSubstr("steps: from 0 to 7\n"
                              "global batch 5 = 2 towers: 3 + 2\n"
                              "tower 0: cpu:0, 3 rows from row 0, in micro-batches of 2 + 1\n"
                              "tower 1: cpu:1, 2 rows from row 3, in micro-batches of 1 + 1\n"
                              "variables: mirrored\n"
                              "reductions over towers, in the order in which they start:\n"));
  EXPECT_THAT(plan, HasSubstr("  bucket 0 of sgd: 2 tensors, 8 B\n"));
  EXPECT_THAT(plan, HasSubstr("memory of a step, by device:\n  cpu:0: "));
  EXPECT_THAT(plan, HasSubstr(" of 64.0 MiB: parameters and statistics 8 B, inputs "));
  EXPECT_THAT(plan, HasSubstr("gradients pass: average, two_parts, apply\n"
                              "hooks: two_parts, StopAtStep, StopOnNonFinite\n"));
}

// A tower with one row cannot be in two parts, and all have as many.
TEST_F(Planned, PartsAreThoseOfTheTowerWithTheFewestRows) {
  std::string plan = make(on_cpus(2, 1))
                         .plan(once({three}), {.max_steps = 7,
                                               .hooks = {std::make_shared<AsksForMicroBatches>()}});
  EXPECT_THAT(plan, HasSubstr("tower 0: cpu:0, 2 rows from row 0\n"));
}

TEST_F(Planned, MakesNothingAndChangesNoStep) {
  Estimator estimator = make(saving_every(1));
  InputFn input = over_and_over({three});
  estimator.plan(input, {.steps = 2});
  EXPECT_FALSE(estimator.latest_checkpoint());
  EXPECT_THAT(error_of([&] { estimator.variable_names(); }), HasSubstr("no variables yet"));
  TrainResult trained = estimator.train(input, {.steps = 2});
  EXPECT_EQ(trained.global_step, 2);
  EXPECT_THAT(estimator.plan(input, {.steps = 3}), HasSubstr("steps: from 2 to 5\n"));
  EXPECT_THAT(estimator.plan(input), HasSubstr("steps: from 2 to the end of the data\n"));
  EXPECT_EQ(estimator.train(input, {.steps = 1}).global_step, 3);
}

// Two slots of 4 bytes for each of 8 bytes; the second tower reads the first one's.
TEST_F(Planned, CentralVariablesAreOnTheFirstTower) {
  RunConfig config = on_cpus(2, 1);
  config.variables = VariablePlacement::central;
  auto model = [](Scope s, const Batch& batch, Mode mode) {
    EstimatorSpec spec = linear(s, batch, mode);
    spec.train = adam();
    return spec;
  };
  std::string plan = make(config, model).plan(once({three}), {.steps = 1});
  EXPECT_THAT(plan, HasSubstr("variables: central\n"));
  std::string first = plan.substr(plan.find("  cpu:0: ")),
              second = first.substr(first.find("  cpu:1: "));
  first.resize(first.find('\n'));
  EXPECT_THAT(first, HasSubstr(": parameters and statistics 8 B, optimizer slots 16 B, inputs "));
  EXPECT_THAT(second, Not(HasSubstr("parameters")));
  EXPECT_THAT(second, Not(HasSubstr("optimizer slots")));
}

TEST_F(Planned, TowersWithABatchEach) {
  RunConfig config = on_cpus(2, 1);
  config.batch = BatchPolicy::per_tower;
  std::string plan = make(config).plan(over_and_over({three}));
  EXPECT_THAT(plan, HasSubstr("global batch 6 = 2 towers x 3\n"
                              "tower 0: cpu:0, 3 rows from row 0\n"
                              "tower 1: cpu:1, 3 rows from row 3\n"));
}

TEST_F(Planned, DevicesHaveTheirOwnMemoryAndReductions) {
  auto model = [](Scope s, const Batch& batch, Mode) -> EstimatorSpec {
    Tensor x = dense((s / "a").on(0), batch["x"], {.units = 3});
    return {.loss = mean(square(dense((s / "b").on(1), x, {.units = 1}))), .train = sgd()};
  };
  std::string plan = make(on_cpus(2, 2), model).plan(once({three}), {.steps = 1});
  EXPECT_THAT(plan, HasSubstr("tower 1: cpu:2+cpu:3, 1 row from row 2\n"));
  EXPECT_THAT(plan, HasSubstr(": 2 tensors, 24 B on device 0\n"));  // a: [1, 3] and [3]
  EXPECT_THAT(plan, HasSubstr(": 2 tensors, 16 B on device 1\n"));  // b: [3, 1] and [1]
  for (const char* device : {"  cpu:0: ", "  cpu:1: ", "  cpu:2: ", "  cpu:3: "})
    EXPECT_THAT(plan, HasSubstr(device));
  // x of 2 rows and a weight one way; its gradient and the loss back.
  EXPECT_THAT(plan, HasSubstr("from other devices 28 B"));
}

TEST_F(Planned, ThrowsWhatTrainingWouldThrow) {
  EXPECT_THAT(error_of([&] { make(quiet()).plan(once({})); }), HasSubstr("the input has no batch"));
  EXPECT_THAT(error_of([&] { make(quiet()).plan(once({three}), {.steps = 0}); }),
              HasSubstr("steps must be above 0"));
  Features uneven = three;
  uneven.set("y", Array(Shape{2, 1}, DType::f32));
  EXPECT_THAT(error_of([&] { make(on_cpus(2, 1)).plan(once({uneven})); }),
              HasSubstr("cannot be cut for the towers"));
  EXPECT_THAT(error_of([&] { make(quiet()).plan(once({points({}, {})})); }),
              HasSubstr("the batch has no rows"));
  RunConfig small = quiet();
  small.memory_limit = Bytes(100);
  auto large = [](Scope s, const Batch& batch, Mode) -> EstimatorSpec {
    return {.loss = mean(dense(s / "line", batch["x"], {.units = 100})), .train = sgd()};
  };
  std::string error = error_of([&] { make(small, large).plan(once({three})); });
  EXPECT_THAT(error, HasSubstr("the step needs "));
  EXPECT_THAT(error, HasSubstr("not even a batch of 1 would fit"));
  std::string training = error_of([&] { make(small, large).train(once({three})); });
  EXPECT_EQ(error.substr(0, error.find('\n')), training.substr(0, training.find('\n')));
}

TEST_F(Planned, ACheckpointOfAnotherModelIsAnError) {
  make(saving_every(1)).train(once({three}));
  auto other = [](Scope s, const Batch& batch, Mode mode) { return linear(s / "x", batch, mode); };
  EXPECT_THAT(error_of([&] { make(quiet(), other).plan(once({three})); }),
              HasSubstr("/checkpoint-1.safetensors does not fit the model:\n"
                        "  missing: `x/line/kernel` f32[1, 1], the nearest: line/kernel\n"
                        "  missing: `x/line/bias` f32[1], the nearest: line/bias\n"
                        "  left over: `line/bias` f32[1]\n"
                        "  left over: `line/kernel` f32[1, 1]\n"
                        "use another model_dir"));
}

struct AsksForThePlan final : Hook {
  void begin(HookContext& context) override { plans.push_back(context.plan()); }
  void after_step(const StepResult& result) override { plans.push_back(result.context.plan()); }
  std::string name() const override { return "asks"; }
  std::vector<std::string> plans;
};

TEST_F(Planned, HooksAreToldTheSame) {
  auto asks = std::make_shared<AsksForThePlan>();
  Hooks hooks{asks, std::make_shared<AsksForMicroBatches>()};
  Estimator estimator = make(on_cpus(2, 1));
  std::string plan = estimator.plan(once({five}), {.max_steps = 2, .hooks = hooks});
  estimator.train(over_and_over({five, three}), {.max_steps = 2, .hooks = hooks});
  EXPECT_THAT(plan, HasSubstr("  cpu:1: "));
  EXPECT_THAT(asks->plans, Each(StartsWith(plan + "\ncpu:0: memory over the step, ")));
  EXPECT_THAT(asks->plans, Each(Not(HasSubstr("\ncpu:1: memory"))));  // of the first tower alone
  EXPECT_EQ(asks->plans.size(), 3u);
}

// The first update alone has slots: two for its variable.
TEST_F(Planned, EachPartOfARoundHasItsMemory) {
  auto model = [](Scope s, const Batch& batch, Mode) -> EstimatorSpec {
    Variable a = s.variable("a", {}), b = s.variable("b", {});
    Tensor loss = mean(square(a.value() * batch["x"]));
    return {.loss = loss,
            .train = Updates{minimize(loss, adam(), {a}), minimize(square(b.value()), sgd(), {b})},
            .round = {{.updates = {0}}, {.updates = {0}}, {.updates = {1}}}};
  };
  auto asks = std::make_shared<AsksForThePlan>();
  Estimator estimator = make(on_cpus(2, 1), model);
  TrainOptions options{.max_steps = 2, .hooks = {asks}};
  std::string plan = estimator.plan(over_and_over({three}), options);
  EXPECT_THAT(plan, HasSubstr("  bucket 0 of adam (adam): 1 tensor, 4 B\n"));
  EXPECT_THAT(plan, HasSubstr("  bucket 0 of sgd (sgd): 1 tensor, 4 B\n"));
  EXPECT_THAT(plan, HasSubstr("a step is a round: adam x 2, then sgd x 1; it takes 3 batches\n"));
  std::string adams = plan.substr(plan.find("  cpu:0 (adam): ")),
              sgds = adams.substr(adams.find("  cpu:0 (sgd): "));
  adams.resize(adams.find('\n')), sgds.resize(sgds.find('\n'));
  EXPECT_THAT(adams, HasSubstr(": parameters and statistics 4 B, optimizer slots 8 B, "));
  EXPECT_THAT(sgds, HasSubstr(": parameters and statistics 4 B, "));
  EXPECT_THAT(sgds, Not(HasSubstr("slots")));
  estimator.train(over_and_over({three}), options);
  EXPECT_THAT(asks->plans, Each(StartsWith(plan + "\ncpu:0 (adam): memory over the step, ")));
  EXPECT_THAT(asks->plans, Each(HasSubstr("\ncpu:0 (sgd): memory over the step, ")));
}

// Updates that the model does not have, as in the set of all, are no other part.
TEST_F(Planned, PartsThatAreTheSameAreToldOnce) {
  auto model = [](Scope s, const Batch& batch, Mode mode) {
    EstimatorSpec spec = linear(s, batch, mode);
    spec.round = {{}, {.updates = {0}}};
    return spec;
  };
  std::string plan = make(quiet(), model).plan(over_and_over({three}));
  EXPECT_THAT(plan, HasSubstr("memory of a step, by device:\n  cpu:0: "));
  EXPECT_EQ(plan.find("cpu:0: ", plan.find("memory") + 40), std::string::npos) << plan;
}

}  // namespace
}  // namespace belfry
