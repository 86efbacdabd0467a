
#include <gmock/gmock.h>

#include <algorithm>

#include "belfry/framework/graph/scope.h"
#include "belfry/framework/ops/math.h"
#include "belfry/framework/ops/update/updates.h"
#include "belfry/framework/optimizers/optimizers.h"
#include "training.h"

namespace belfry {
namespace {

using testing::DoubleEq;
using testing::ElementsAre;
using testing::UnorderedElementsAre;

struct MakeOptimizer : testing::Test {
  VariableGradient entry(const Scope& s, std::string_view name, DType dtype = DType::f32) {
    Variable variable = s.variable(name, {.shape = {2}, .dtype = dtype});
    return {variable, constant(graph, Array::of({1.0f, 2.0f}).cast(dtype))};
  }
  std::vector<std::string> slots() const {
    std::vector<std::string> names;
    for (const Node* v : graph.variables())
      if (const auto& o = v->as<VariableOptions>(); o.kind == VariableKind::slot)
        names.push_back(o.name);
    return names;
  }
  Graph graph;
  Scope scope{graph};
};

TEST_F(MakeOptimizer, NamesSlotsAfterVariableAndOptimizer) {
  adam().apply({entry(scope / "conv1", "kernel"), entry(scope, "bias")}, {});
  EXPECT_THAT(slots(), ElementsAre("conv1/kernel/adam/m", "conv1/kernel/adam/v", "bias/adam/m",
                                   "bias/adam/v"));
}

TEST_F(MakeOptimizer, NoTwoOptimizersShareSlots) {
  VariableGradient a = entry(scope, "a");
  adam().apply({a}, {});
  adam().apply({a, entry(scope, "b")}, {});
  momentum().apply({a}, {});
  adam().apply({a}, {});
  EXPECT_THAT(slots(),
              ElementsAre("a/adam/m", "a/adam/v", "a/adam_1/m", "a/adam_1/v", "b/adam/m",
                          "b/adam/v", "a/momentum/accumulator", "a/adam_2/m", "a/adam_2/v"));
}

TEST_F(MakeOptimizer, SlotsAreAsTheirVariable) {
  VariableGradient a = entry((scope / "x").on(1), "a", DType::f64);
  adagrad({.initial_accumulator = 0.5}).apply({a}, {});
  Node* slot = graph.find_variable("x/a/adagrad/accumulator");
  ASSERT_TRUE(slot);
  EXPECT_EQ(slot->output(), a.variable.type());
  EXPECT_EQ(slot->device(), 1);
  EXPECT_EQ(slot->phase(), Phase::update);
  EXPECT_EQ(slot->as<VariableOptions>().initializer.a, 0.5);
  EXPECT_TRUE(trainable_variables(graph).size() == 1);  // the slot is none
}

TEST_F(MakeOptimizer, OneNodeForAllVariables) {
  sgd().apply({entry(scope, "a"), entry(scope, "b"), entry(scope, "c")}, {});
  ASSERT_EQ(graph.effects().size(), 1u);
  EXPECT_EQ(graph.effects()[0]->inputs().size(), 1u + 3 * 2);
}

TEST_F(MakeOptimizer, OneNodeForEachDeviceAndType) {
  sgd().apply({entry(scope.on(1), "a"), entry(scope, "b"), entry(scope.on(1), "c"),
               entry(scope, "d", DType::f64)},
              {});
  std::vector<std::pair<int, std::size_t>> nodes;  // device, inputs
  for (const Node* node : graph.effects())
    nodes.emplace_back(node->device(), node->inputs().size());
  using Place = std::pair<int, std::size_t>;
  EXPECT_THAT(nodes, UnorderedElementsAre(Place(0, 3), Place(0, 3), Place(1, 5)));
}

TEST_F(MakeOptimizer, OneNodeForEachRate) {
  Gradients gradients{entry(scope, "a"), entry(scope, "b"), entry(scope, "c")};
  gradients[1].rate = 0.5;
  sgd().apply(gradients, {});
  ASSERT_EQ(graph.effects().size(), 2u);
  EXPECT_EQ(graph.effects()[0]->inputs().size(), 1u + 2);
  EXPECT_EQ(graph.effects()[0]->input(1), gradients[1].variable.value());
  EXPECT_EQ(graph.effects()[1]->inputs().size(), 1u + 2 * 2);
}

TEST_F(MakeOptimizer, TheConditionReachesEveryNode) {
  Tensor condition = input(graph, "condition", {{}, DType::boolean});
  sgd().apply({entry(scope, "a"), entry(scope.on(1), "b")}, {.condition = condition});
  ASSERT_EQ(graph.effects().size(), 2u);
  for (const Node* node : graph.effects()) EXPECT_EQ(node->input(1), condition);
}

TEST_F(MakeOptimizer, NothingToUpdateAddsNothing) {
  adam().apply({}, {});
  EXPECT_EQ(graph.size(), 0u);
}

// An optimizer of a user's own: gradient descent by the sign.
TEST_F(MakeOptimizer, ServesOptimizersFromOutside) {
  Optimizer sign_descent =
      make_optimizer("sign_descent", 0.25, {},
                     [](Tensor rate, Tensor, std::span<const UpdateGroup> groups, Tensor) {
                       for (const UpdateGroup& g : groups)
                         assign(g.variable, g.variable.value() - sign(g.gradient) * rate);
                     });
  VariableGradient a = entry(scope, "a");
  sign_descent.apply({{a.variable, constant(graph, Array::of({-3.0f, 7.0f}))}}, {});
  Training training(graph, {a.variable});
  training.step();
  EXPECT_THAT(training.variable("a"), ElementsAre(0.25, -0.25));
}

TEST_F(MakeOptimizer, TheScheduleSeesFinishedSteps) {
  Schedule schedule = [](Tensor step) { return cast(step, DType::f32) + 1; };
  VariableGradient a = entry(scope, "a");
  sgd({.learning_rate = schedule}).apply({a}, {});
  Training training(graph, {a.variable});
  EXPECT_EQ(training.step(), 0);
  EXPECT_THAT(training.variable("a"), ElementsAre(-1, -2));  // rate 1 at step 0
  training.step();
  EXPECT_THAT(training.variable("a"), ElementsAre(-3, -6));  // then 2
}

TEST_F(MakeOptimizer, BiasCorrectionCountsTheStepBeingMade) {
  VariableGradient a = entry(scope, "a", DType::f64);
  AdamOptions options{.learning_rate = 0.5, .beta1 = 0.5, .beta2 = 0.75, .epsilon = 1e-30};
  adam(options).apply({a}, {});
  Training training(graph, {a.variable});
  training.step();  // t = 1: each element moves by the learning rate
  EXPECT_THAT(training.variable("a"), ElementsAre(DoubleEq(-0.5), DoubleEq(-0.5)));
  training.step();  // a constant gradient goes on so
  EXPECT_THAT(training.variable("a"), ElementsAre(DoubleEq(-1), DoubleEq(-1)));
}

}  // namespace
}  // namespace belfry
