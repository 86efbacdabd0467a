#include "belfry/framework/train/state/model_state.h"

#include "../comparing.h"

namespace belfry {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::StartsWith;

VariableOptions named(const std::string& name) {
  return {.name = name, .type = {{}, DType::f32}, .initializer = constant_value(2)};
}
Array number(float x) { return Array::of({x}).reshape({}); }

// The state of a session on two CPUs.
struct ModelStates : ::testing::Test {
  RunConfig config = on_cpus(2, 1);
  Strategy strategy = make_strategy(config.devices);
  ModelState state{strategy, 0, 2, config, {}};
};

TEST_F(ModelStates, BeginWithoutAny) {
  EXPECT_FALSE(state.is_trained());
  EXPECT_FALSE(state.known());
  EXPECT_THAT(state.names(), ElementsAre());
  EXPECT_FALSE(state.value("w"));
  EXPECT_EQ(state.seed(), config.seed);
}

TEST_F(ModelStates, RestoreWhatASnapshotHolds) {
  Checkpoint saved{.variables = {{"w", number(5)}, {"later", number(6)}},
                   .step = 7,
                   .seed = 8,
                   .input = "row 9",
                   .hooks = {{"mean", "10"}}};
  state.make(named("w"), 0, Mode::train);
  EXPECT_EQ(state.value("w")->item(), 2);
  state.restore(saved);
  EXPECT_EQ(state.value("w")->item(), 5);
  EXPECT_EQ(state.value("later")->item(), 6);  // no model has asked for it yet
  EXPECT_EQ(std::tuple(state.step, state.seed()), std::tuple(7, 8u));
  EXPECT_EQ(state.position.input, "row 9");
  EXPECT_TRUE(state.position.of_all);
  state.make(named("later"), 0, Mode::train);
  EXPECT_EQ(state.value("later")->item(), 6);
  Checkpoint again = state.snapshot();
  expect_identical(again.variables, saved.variables);
  EXPECT_EQ(std::tuple(again.step, again.seed, again.input, again.hooks),
            std::tuple(saved.step, saved.seed, saved.input, saved.hooks));
  EXPECT_EQ(again.config, to_json(config));
}

TEST_F(ModelStates, KeepTheValueOfAVariableThatCannotBeMadeYet) {
  state.restore({.variables = {{"later", number(6)}}});
  VariableOptions faulty = named("later");
  faulty.initializer = orthogonal();  // of a scalar there is none
  EXPECT_NE(error_of([&] { state.make(faulty, 0, Mode::train); }), "no error");
  EXPECT_EQ(state.value("later")->item(), 6);
  state.make(named("later"), 0, Mode::train);
  EXPECT_EQ(state.value("later")->item(), 6);
}

TEST_F(ModelStates, KeepWhatEachTowerHas) {
  VariableOptions own = named("n");
  own.over_towers = OverTowers::per_tower;
  state.make(own, 0, Mode::train);
  state.variables().write("n", number(3), 1);
  EXPECT_THAT(state.names(), ElementsAre("n", "n/tower_0", "n/tower_1"));
  Checkpoint saved = state.snapshot();
  ModelState other{strategy, 0, 2, config, {}};
  other.restore(saved);
  other.make(own, 0, Mode::train);
  EXPECT_EQ(other.variables().read("n", 0).item(), 2);
  EXPECT_EQ(other.variables().read("n", 1).item(), 3);
}

TEST_F(ModelStates, RefuseACheckpointThatLacksAVariableAndStayAsTheyWere) {
  state.make(named("w"), 0, Mode::train);
  EXPECT_THAT(error_of([&] {
                state.restore({.variables = {{"v", number(1)}}, .step = 4});
              }),
              StartsWith("the checkpoint of step 4 does not fit the model:"));
  EXPECT_EQ(state.value("w")->item(), 2);
  EXPECT_EQ(state.step, 0);
}

TEST_F(ModelStates, HaveTheVariablesOfTheTrainingOnceTheyAreFixed) {
  std::vector<VariableOptions> model{named("w")};
  state.make(model[0], 0, Mode::train);
  state.fix(model);
  ASSERT_TRUE(state.known());
  EXPECT_EQ(state.known()->size(), 1u);
  state.check(model, {"w"}, Mode::evaluate);
  EXPECT_THAT(error_of([&] { state.check({named("x")}, {"x"}, Mode::train); }),
              HasSubstr("a model_fn must make the same variables for every batch"));
  state.begin_training();
  EXPECT_THAT(error_of([&] { state.check({named("x")}, {"x"}, Mode::train); }),
              HasSubstr("the same variables in every training of an Estimator"));
  state.check({named("x")}, {}, Mode::train);  // nothing reads it
}

TEST_F(ModelStates, SaveNothingThatIsMeantToBeOutsideOfTraining) {
  VariableOptions outside = named("noise");
  outside.outside_training = true;
  state.make(outside, 0, Mode::evaluate);
  state.make(named("w"), 0, Mode::train);
  EXPECT_THAT(state.names(), ElementsAre("w"));
}

TEST_F(ModelStates, KnowWhetherAnAverageHasBegun) {
  EXPECT_FALSE(state.has_average("w", false));
  state.restore(
      {.variables = {{"w/moving_average", number(1)}, {"w/moving_average_count", number(0)}}});
  EXPECT_TRUE(state.has_average("w", false));
  EXPECT_FALSE(state.has_average("w"));
  state.restore(
      {.variables = {{"w/moving_average", number(1)}, {"w/moving_average_count", number(3)}}});
  EXPECT_TRUE(state.has_average("w"));
}

}  // namespace
}  // namespace belfry
