// Covers EstimatorSpec::round: steps of several sub-steps, as GANs have them.

#include <cmath>
#include <numbers>

#include "training_testing.h"

namespace belfry {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

const UpdateSet generator{0}, discriminator{1}, both{0, 1}, counting{2};

using Round = std::vector<SubStep>;

// `first`, then as many sub-steps of each as are asked for.
Round repeated(std::initializer_list<std::pair<UpdateSet, int>> parts) {
  Round round;
  for (auto [updates, count] : parts)
    for (int i = 0; i < count; ++i) round.push_back({.updates = updates});
  return round;
}

Features numbered(float x) { return one_point(x, 0); }
InputFn numbers(int count) {
  std::vector<Features> list;
  for (int i = 1; i <= count; ++i) list.push_back(numbered(static_cast<float>(i)));
  return once(list);
}

struct Rounds : ::testing::Test {
  Estimator& make(ModelFn model, RunConfig config = quiet()) {
    estimator = std::make_unique<Estimator>(
        EstimatorOptions{.model_fn = std::move(model), .model_dir = dir.path(), .run = config});
    return *estimator;
  }
  double value(std::string_view name) { return estimator->variable_value(name).item(); }

  TemporaryFolder dir;
  std::unique_ptr<Estimator> estimator;
};

// One variable that the first update raises by 10, the second by 100, the third by 1.
ModelFn counting_to(Round round) {
  return [round](Scope s, const Batch&, Mode) -> EstimatorSpec {
    Variable c = s.variable("c", {});
    auto raise = [&](double by) {
      return minimize(c.value() * -by, sgd({.learning_rate = 1}), {c});
    };
    Updates train{raise(10), raise(100), raise(1)};
    return {.loss = c.value() * 1.0, .train = train, .round = round};
  };
}

TEST_F(Rounds, UpdatesAreMadeAsOftenAsTheyStandThere) {
  Round sequential = repeated({{generator, 3}, {discriminator, 4}});
  sequential[0].updates |= counting;
  make(counting_to(sequential));
  TrainResult result = estimator->train(numbers(14), {.steps = 1});
  EXPECT_EQ(value("c"), 431);
  EXPECT_EQ(result.global_step, 1);
  EXPECT_EQ(result.examples, 7);
  EXPECT_EQ(estimator->train(numbers(14)).global_step, 2);
  EXPECT_EQ(value("c"), 862);
}

TEST_F(Rounds, UpdatesOfOneSubStepAddUp) {
  Round joint = repeated({{both, 3}, {discriminator, 1}});
  joint[0].updates |= counting;
  make(counting_to(joint)).train(numbers(9), {.steps = 1});
  EXPECT_EQ(value("c"), 431);
}

TEST_F(Rounds, ARoundThatTheDataDoNotSufficeForIsNotBegun) {
  make(counting_to(repeated({{generator, 2}, {discriminator, 1}})));
  CapturedLog log;
  TrainResult result = estimator->train(numbers(8));
  EXPECT_EQ(result.global_step, 2);
  EXPECT_THAT(log.warnings, HasSubstr("the data end with 2 of the 3 batches that a round takes"));
  EXPECT_EQ(result.examples, 6);
  EXPECT_EQ(value("c"), 2 * 120);
}

// g falls by the batch's x in its update, d by ten times that.
ModelFn falling_by_x(Round round) {
  return [round](Scope s, const Batch& batch, Mode) -> EstimatorSpec {
    Variable g = s.variable("g", {}), d = s.variable("d", {});
    Tensor x = mean(batch["x"]);
    Tensor g_loss = g.value() * x, d_loss = d.value() * x * 10;
    return {.loss = d_loss,
            .train = {minimize(g_loss, sgd({.learning_rate = 1}), {g}),
                      minimize(d_loss, sgd({.learning_rate = 1}), {d})},
            .values = {{"g_loss", g_loss}, {"d_loss", d_loss}, {"sum", g.value() + d.value()}},
            .round = round};
  };
}

TEST_F(Rounds, EverySubStepTakesTheNextBatchUnlessItSaysOtherwise) {
  Round round = repeated({{generator, 2}, {discriminator, 2}});
  round[1].fresh_batch = round[3].fresh_batch = false;
  make(falling_by_x(round)).train(numbers(4));
  // Rounds of batches 1, 1, 2, 2 and 3, 3, 4, 4.
  EXPECT_EQ(value("g"), -(1 + 1 + 3 + 3));
  EXPECT_EQ(value("d"), -10 * (2 + 2 + 4 + 4));
}

// The results of steps as hooks see them.
struct Seen final : Hook {
  void before_step(StepRequest& r) override { r.chosen &= choose; }
  void after_step(const StepResult& r) override {
    losses.push_back(r.loss);
    for (const auto& [name, value] : r.values) values.push_back(value);
    applied.push_back(r.applied);
    rows.push_back(r.rows);
    steps.push_back(r.context.step());
  }
  UpdateSet choose = both;
  std::vector<double> losses, values;
  std::vector<UpdateSet> applied;
  std::vector<std::int64_t> rows, steps;
};

TEST_F(Rounds, LossesAreThoseOfTheLastSubStepThatMadeTheUpdate) {
  auto seen = std::make_shared<Seen>();
  make(falling_by_x(repeated({{generator, 2}, {discriminator, 2}})));
  estimator->train(numbers(4), {.hooks = {seen}});
  // g is -1 when the second batch comes, d is -30 when the fourth does, and g + d -3 - 30.
  EXPECT_THAT(seen->losses, ElementsAre(-30 * 4 * 10));
  EXPECT_THAT(seen->values, ElementsAre(-1 * 2, -30 * 4 * 10, -3 - 30));
  EXPECT_THAT(seen->applied, ElementsAre(both));
  EXPECT_THAT(seen->rows, ElementsAre(4));
  EXPECT_THAT(seen->steps, ElementsAre(1));
}

TEST_F(Rounds, HooksLeaveUpdatesOutOfEverySubStep) {
  auto seen = std::make_shared<Seen>();
  make(falling_by_x({{.updates = both}, {.updates = generator}, {.updates = discriminator}}));
  seen->choose = generator;
  estimator->train(numbers(6), {.steps = 1, .hooks = {seen}});
  EXPECT_EQ(value("g"), -3);
  EXPECT_EQ(value("d"), 0);
  EXPECT_THAT(seen->applied, ElementsAre(generator));
  seen->choose = {};  // the batches are taken all the same
  estimator->train(numbers(6), {.steps = 1, .hooks = {seen}});
  EXPECT_EQ(value("g"), -3);
  EXPECT_EQ(seen->applied[1], UpdateSet());
  EXPECT_EQ(estimator->train(numbers(6)).steps, 0);
}

TEST_F(Rounds, NanOfAnyUpdateStopsTraining) {
  auto model = [](Scope s, const Batch& batch, Mode mode) {
    EstimatorSpec spec =
        falling_by_x(repeated({{generator, 1}, {discriminator, 1}}))(std::move(s), batch, mode);
    return spec;
  };
  make(model);
  EXPECT_THAT(
      error_of([&] {
        estimator->train(once({numbered(std::numeric_limits<float>::quiet_NaN()), numbered(1)}));
      }),
      HasSubstr("g_loss is NaN"));
}

TEST_F(Rounds, MovingStatisticsGoWithTheUpdatesOfTheirNeighbours) {
  auto model = [](Scope s, const Batch& batch, Mode) -> EstimatorSpec {
    auto part = [&](std::string_view name) {
      Variable mean_of = (s / name / "norm").variable("moving", {.kind = VariableKind::statistic});
      assign(mean_of, mean_of.value() + 1);
      Variable w = (s / name / "dense").variable("w", {});
      return minimize(w.value() * mean(batch["x"]), sgd({.learning_rate = 1}), {w});
    };
    Update g = part("generator"), d = part("discriminator");
    Variable common = s.variable("common", {.kind = VariableKind::statistic});
    assign(common, common.value() + 1);
    return {
        .loss = d.loss, .train = {g, d}, .round = repeated({{generator, 3}, {discriminator, 2}})};
  };
  make(model).train(numbers(5));
  EXPECT_EQ(value("generator/norm/moving"), 3);
  EXPECT_EQ(value("discriminator/norm/moving"), 2);
  EXPECT_EQ(value("common"), 5);
}

// w is the last number drawn in a sub-step, and sum all of them.
ModelFn drawing(int parts) {
  return [parts](Scope s, const Batch&, Mode) -> EstimatorSpec {
    Variable w = s.variable("w", {}), sum = s.variable("sum", {});
    Tensor number = reshape(random_uniform(s, {1}), Shape{});
    Tensor loss = (w.value() - number) * (w.value() - number) * 0.5 - sum.value() * number;
    return {.loss = loss,
            .train = minimize(loss, sgd({.learning_rate = 1}), {w, sum}),
            .round = Round(static_cast<std::size_t>(parts))};
  };
}

TEST_F(Rounds, EverySubStepDrawsNumbersOfItsOwn) {
  make(drawing(1)).train(numbers(1));
  double first = value("w");
  TemporaryFolder other;
  Estimator two({.model_fn = drawing(2), .model_dir = other.path(), .run = quiet()});
  two.train(numbers(2));
  EXPECT_NE(two.variable_value("w").item(), first);
  EXPECT_NEAR(two.variable_value("sum").item(), first + two.variable_value("w").item(), 1e-6);
}

TEST_F(Rounds, AResumedRunIsTheUndisturbedOneToTheBit) {
  InputFn input = over_and_over({numbered(1), numbered(2), numbered(3)});
  make(drawing(2)).train(input, {.max_steps = 3});
  estimator.reset();
  make(drawing(2)).train(input, {.max_steps = 7});
  TemporaryFolder other;
  Estimator undisturbed({.model_fn = drawing(2), .model_dir = other.path(), .run = quiet()});
  undisturbed.train(input, {.max_steps = 7});
  EXPECT_TRUE(identical(estimator->variable_value("sum"), undisturbed.variable_value("sum")));
}

// ---- counters

ModelFn counted(Round round, bool schedule_by_counter) {
  return [=](Scope s, const Batch& batch, Mode) -> EstimatorSpec {
    Variable w = s.variable("w", {});
    Tensor loss = w.value() * mean(batch["x"]);
    auto rate = [](Tensor step) { return cast(step, DType::f64) + 1; };
    Update update = minimize(loss, sgd({.learning_rate = rate}), {w});
    update.counter = "generator_step";
    update.schedule_by_counter = schedule_by_counter;
    return {.loss = loss, .train = update, .round = round};
  };
}

TEST_F(Rounds, ACounterCountsTheUpdatesAndSchedulesMayFollowIt) {
  InputFn ones = over_and_over({numbered(1)});
  make(counted(Round(3), true)).train(ones, {.steps = 2});
  EXPECT_EQ(value("generator_step"), 6);
  EXPECT_EQ(value("w"), -(1 + 2 + 3 + 4 + 5 + 6));
}

TEST_F(Rounds, SchedulesFollowTheRoundsOtherwise) {
  InputFn ones = over_and_over({numbered(1)});
  make(counted(Round(3), false)).train(ones, {.steps = 2});
  EXPECT_EQ(value("generator_step"), 6);
  EXPECT_EQ(value("w"), -(1 + 1 + 1 + 2 + 2 + 2));
}

TEST_F(Rounds, RulesCountByTheCounter) {
  auto model = [](Round round, std::string counter) {
    return [=](Scope s, const Batch& batch, Mode) -> EstimatorSpec {
      Variable w = s.variable("w", {});
      Tensor loss = w.value() * mean(batch["x"]);
      Update update = minimize(loss, adam({.learning_rate = 0.1}), {w});
      update.counter = counter;
      return {.loss = loss, .train = update, .round = round};
    };
  };
  InputFn input = over_and_over({numbered(1), numbered(-3), numbered(2)});
  make(model(Round(3), "count")).train(input, {.steps = 2});
  TemporaryFolder other;
  Estimator steps({.model_fn = model({}, ""), .model_dir = other.path(), .run = quiet()});
  steps.train(input, {.steps = 6});
  EXPECT_TRUE(identical(estimator->variable_value("w"), steps.variable_value("w")));
}

// ---- what is refused, and said

TEST_F(Rounds, ASubStepWithoutUpdatesIsRefused) {
  make(falling_by_x({{.updates = generator}, {.updates = counting}}));
  EXPECT_THAT(error_of([&] { estimator->train(numbers(4)); }),
              HasSubstr("sub-step 1 of the round makes none of the 2 updates"));
}

TEST_F(Rounds, TheFirstBatchIsFresh) {
  make(falling_by_x({{.fresh_batch = false}}));
  EXPECT_THAT(error_of([&] { estimator->train(numbers(4)); }), HasSubstr("takes a fresh batch"));
}

TEST_F(Rounds, ThePlanSaysWhatARoundIs) {
  Round round = repeated({{generator, 2}, {both, 1}});
  round[2].fresh_batch = false;
  make(falling_by_x(round));
  EXPECT_THAT(estimator->plan(numbers(4)),
              HasSubstr("a step is a round: sgd x 2, then sgd and sgd x 1; it takes 2 batches\n"));
}

// ---- towers

TEST_F(Rounds, TwoTowersAreOne) {
  auto model = [](Scope s, const Batch& batch, Mode) -> EstimatorSpec {
    Tensor z = random_normal(s / "noise", batch["x"].shape());
    Tensor fake = dense(s / "generator", z, {.units = 1});
    Tensor real = dense(s / "discriminator", batch["x"], {.units = 1});
    Tensor g_loss = mean(square(fake - batch["y"])), d_loss = mean(square(real - fake));
    return {.loss = d_loss,
            .train = {minimize(g_loss, adam(), trainable_variables(s.graph(), "generator")),
                      minimize(d_loss, adam(), trainable_variables(s.graph(), "discriminator"))},
            .values = {{"g_loss", g_loss}},
            .round = repeated({{generator, 2}, {both, 1}, {discriminator, 1}})};
  };
  InputFn input = over_and_over({points({1, 2, 3}, {3, 2, 1}), points({-1, 4, 2}, {0, 1, 5})});
  make(model).train(input, {.steps = 5});
  RunConfig config = quiet();
  config.devices = {"cpu:0", "cpu:1"};
  TemporaryFolder other;
  Estimator two({.model_fn = model, .model_dir = other.path(), .run = config});
  two.train(input, {.steps = 5});
  for (const char* name : {"generator/kernel", "discriminator/kernel", "discriminator/bias"})
    EXPECT_NEAR(two.variable_value(name).at(0), estimator->variable_value(name).at(0), 1e-6)
        << name;
}

}  // namespace
}  // namespace belfry
