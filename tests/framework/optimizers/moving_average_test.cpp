
#include <gmock/gmock.h>

#include "belfry/framework/graph/scope.h"
#include "belfry/framework/ops/math.h"
#include "belfry/framework/optimizers/minimize.h"
#include "belfry/framework/optimizers/optimizers.h"
#include "training.h"

namespace belfry {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Throws;

struct MovingAverages : testing::Test {
  static auto fails(const std::string& text) {
    return Throws<Error>(testing::Property(&Error::what, HasSubstr(text)));
  }
  Graph graph;
  Scope scope{graph};
  // Falls by 1 in each step.
  Variable w = scope.variable("w", {.initializer = constant_value(8)});
  Update update = minimize(w.value() * 4.0, sgd({.learning_rate = 0.25}), {w});
};

TEST_F(MovingAverages, AreOfWhatTheUpdateLeaves) {
  apply_gradients(update, compute_gradients(update));
  add_moving_averages({&w, 1}, {.decay = 0.5});
  Training training(graph, {update.loss});
  for (double expected : {7.0, 6.5, 5.75}) {  // of 7, 6, 5
    training.step();
    EXPECT_THAT(training.variable("w/moving_average"), ElementsAre(expected));
  }
  EXPECT_THAT(training.variable("w/moving_average_count"), ElementsAre(3));
}

// Averages begin at the step of a checkpoint that has none.
TEST_F(MovingAverages, BeginWhereverTheyAreAdded) {
  apply_gradients(update, compute_gradients(update));
  add_moving_averages({&w, 1}, {.decay = 0.5, .warm_up = true});
  Training training(graph, {update.loss});
  training.set_step(1000);
  training.step();
  EXPECT_THAT(training.variable("w/moving_average"), ElementsAre(7));
  training.step();  // decay 2 / 11
  EXPECT_NEAR(training.variable("w/moving_average")[0], 7 * 2 / 11.0 + 6 * 9 / 11.0, 1e-6);
}

TEST_F(MovingAverages, TheirConditionIsTheUpdates) {
  Tensor go = input(graph, "go", {{}, DType::boolean});
  apply_gradients(update, compute_gradients(update), go);
  add_moving_averages({&w, 1}, {.decay = 0.5}, go);
  Training training(graph, {update.loss});
  for (auto [holds, expected, count] :
       {std::tuple{true, 7.0, 1}, {false, 7.0, 1}, {true, 6.5, 2}}) {
    training.step({{"go", Array::scalar(holds)}});
    EXPECT_THAT(training.variable("w/moving_average"), ElementsAre(expected));
    EXPECT_THAT(training.variable("w/moving_average_count"), ElementsAre(count));
  }
}

TEST_F(MovingAverages, AreSlotsOfTheirVariablesTypeAndPlace) {
  std::vector<Variable> variables{
      w, (scope / "x").on(1).variable("d", {.shape = {2}, .dtype = DType::f64})};
  add_moving_averages(variables);
  add_moving_averages({});
  Node* average = graph.find_variable("x/d" + std::string(moving_average_suffix));
  ASSERT_TRUE(average);
  EXPECT_EQ(average->output(), (TensorType{{2}, DType::f64}));
  for (const char* name : {"x/d/moving_average", "x/d/moving_average_count"}) {
    EXPECT_EQ(graph.find_variable(name)->device(), 1);
    EXPECT_EQ(graph.find_variable(name)->as<VariableOptions>().kind, VariableKind::slot);
  }
  ASSERT_EQ(graph.effects().size(), 2u);  // one for each device
  EXPECT_EQ(graph.effects()[0]->device(), 0);
  EXPECT_EQ(graph.effects()[1]->device(), 1);
  EXPECT_EQ(graph.effects()[1]->phase(), Phase::update);
}

TEST_F(MovingAverages, Errors) {
  for (auto [decay, text] : {std::pair{1.0, "1"}, {-0.5, "-0.5"}, {std::nan(""), "nan"}})
    EXPECT_THAT(([&, decay = decay] { add_moving_averages({}, {.decay = decay}); }),
                fails(concat("moving_average: decay is ", text, "; it must lie in [0, 1)")));
  add_moving_averages({&w, 1});
  EXPECT_THAT(([&] {
                add_moving_averages({&w, 1});
              }),
              fails("moving_average: variable `w` has an average already"));
  Variable none;
  EXPECT_THAT(([&] {
                add_moving_averages({&none, 1});
              }),
              fails("moving_average: a variable is undefined"));
}

}  // namespace
}  // namespace belfry
