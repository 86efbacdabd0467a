#include "belfry/framework/optimizers/minimize.h"

#include <gmock/gmock.h>

#include <cmath>

#include "belfry/framework/graph/scope.h"
#include "belfry/framework/ops/math.h"
#include "belfry/framework/optimizers/optimizers.h"
#include "training.h"

namespace belfry {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Throws;

struct Minimize : testing::Test {
  Variable variable(std::string_view name, double value, Shape shape = {}) {
    return scope.variable(name, {.shape = shape, .initializer = constant_value(value)});
  }
  static auto fails(const std::string& text) {
    return Throws<Error>(testing::Property(&Error::what, HasSubstr(text)));
  }
  Graph graph;
  Scope scope{graph};
  Optimizer quarter = sgd({.learning_rate = 0.25});
};

TEST_F(Minimize, TakesAllParametersUnlessTold) {
  Variable a = variable("a", 3), b = variable("b", 5);
  scope.variable("mean", {.kind = VariableKind::statistic});
  Tensor loss = square(a) + b;
  EXPECT_THAT(minimize(loss, quarter).variables, ElementsAre(a, b));
  EXPECT_THAT(minimize(loss, quarter, {b}).variables, ElementsAre(b));
}

TEST_F(Minimize, ComputesThenApplies) {
  Variable a = variable("a", 3), b = variable("b", 5);
  Tensor loss = square(a) * 0.5 + a * b;
  Update update = minimize(loss, quarter);
  Gradients gradients = compute_gradients(update);  // 8 and 3
  ASSERT_EQ(gradients.size(), 2u);
  EXPECT_EQ(gradients[0].variable, a);
  EXPECT_EQ(gradients[1].variable, b);
  apply_gradients(update, gradients);
  Training training(graph, {loss});
  training.step();
  EXPECT_EQ(training.output(), 19.5);
  EXPECT_THAT(training.variable("a"), ElementsAre(1));
  EXPECT_THAT(training.variable("b"), ElementsAre(4.25));
}

TEST_F(Minimize, VariablesWithoutAnEntryStay) {
  variable("a", 3), variable("b", 5);
  Tensor loss = Tensor(*graph.find_variable("a")) * Tensor(*graph.find_variable("b"));
  Update update = minimize(loss, quarter);
  Gradients gradients = compute_gradients(update);
  gradients.erase(gradients.begin());
  apply_gradients(update, gradients);
  apply_gradients(update, {});
  Training training(graph, {loss});
  training.step();
  EXPECT_THAT(training.variable("a"), ElementsAre(3));
  EXPECT_THAT(training.variable("b"), ElementsAre(4.25));
}

TEST_F(Minimize, UpdatesReadTheVariablesAsTheyWereBeforeTheStep) {
  Network d(scope / "d", [](Scope s, Tensor x) {
    return x * s.variable("w", {.initializer = constant_value(2)});
  });
  Network g(scope / "g", [](Scope s, Tensor x) {
    return x * s.variable("w", {.initializer = constant_value(3)});
  });
  Tensor score = d(g(constant(graph, 1, DType::f32)));
  Updates updates = {minimize(-score, quarter, d.variables()),
                     minimize(score, quarter, g.variables())};
  for (const Update& update : updates.list({})) apply_gradients(update, compute_gradients(update));
  Training training(graph, {score});
  training.step();
  EXPECT_THAT(training.variable("d/w"), ElementsAre(2.75));  // 2 + 0.25 * 3
  EXPECT_THAT(training.variable("g/w"), ElementsAre(2.5));   // 3 - 0.25 * 2, not 2.75
}

TEST_F(Minimize, NodesBelongToTheUpdatePhase) {
  Variable a = variable("a", 3);
  Update update = minimize(square(a), momentum({.learning_rate = 0.25}));
  update.name = "generator";
  Gradients gradients = compute_gradients(update);
  std::size_t before = graph.size();
  apply_gradients(update, gradients);
  for (std::size_t i = before; i < graph.size(); ++i) {
    const Node& node = graph.node(i);
    if (node.is(input_op)) continue;
    EXPECT_EQ(node.phase(), Phase::update) << to_string(node);
  }
  ASSERT_EQ(graph.effects().size(), 1u);
  EXPECT_EQ(to_string(*graph.effects()[0]), "momentum_update (at generator)");
}

TEST_F(Minimize, LossErrors) {
  Variable a = variable("a", 3, {2});
  EXPECT_THAT([&] { minimize(Tensor(), quarter); }, fails("minimize: the loss is undefined"));
  EXPECT_THAT([&] { minimize(square(a), quarter); },
              fails("minimize: the loss is f32[2]; it must be a scalar, so take its mean or sum"));
  EXPECT_THAT([&] { minimize(argmax(a, 0), quarter); },
              fails("minimize: the loss is i64[]; it must be floating"));
}

TEST_F(Minimize, VariableErrors) {
  Variable a = variable("a", 3), b = variable("b", 4);
  variable("c", 4);
  Variable mean = scope.variable("mean", {.kind = VariableKind::statistic});
  Tensor loss = square(a);
  EXPECT_THAT([&] { minimize(loss, quarter, {}); },
              fails("minimize: there are no variables to train; note that a Network has none "
                    "before its first call"));
  EXPECT_THAT(
      [&] {
        minimize(loss, quarter, {a, b, a});
      },
      fails("minimize: variable `a` is listed twice"));
  EXPECT_THAT(
      [&] {
        minimize(loss, quarter, {a, mean});
      },
      fails("minimize: variable `mean` is a statistic; only parameters are trained"));
  EXPECT_THAT([&] { minimize(loss, quarter, {Variable()}); },
              fails("minimize: a variable is undefined"));
  EXPECT_THAT([&] { compute_gradients(minimize(loss, quarter)); },
              fails("minimize: the loss mul does not depend on `b`, `c`; list the variables to "
                    "train without them"));
}

TEST_F(Minimize, LongListsOfIndependentVariablesAreCut) {
  Variable a = variable("a", 3);
  for (int i = 0; i < 10; ++i) variable(concat("v", i), 0);
  EXPECT_THAT(
      [&] { compute_gradients(minimize(square(a), quarter)); },
      fails("does not depend on `v0`, `v1`, `v2`, `v3`, `v4`, `v5`, `v6`, `v7` and 2 more;"));
}

TEST_F(Minimize, ApplyErrors) {
  Variable a = variable("a", 3), b = variable("b", 3, {2});
  Update update = minimize(square(a), quarter, {a});
  EXPECT_THAT(
      [&] {
        apply_gradients(update, {{a, Tensor()}});
      },
      fails("apply_gradients: the gradient of `a` is undefined"));
  EXPECT_THAT(
      [&] {
        apply_gradients(update, {{a, b}});
      },
      fails("apply_gradients: variable `a` is f32[] but its gradient is f32[2]"));
  for (auto [rate, text] : {std::pair{-1.0, "-1"}, {std::nan(""), "nan"}})
    EXPECT_THAT(([&, rate = rate] {
                  apply_gradients(update, {{a, a, rate}});
                }),
                fails(concat("apply_gradients: the rate of `a` is ", text,
                             "; it must be finite and at least 0")));
  EXPECT_THAT(([&] {
                apply_gradients(update, {{a, a}}, b);
              }),
              fails("apply_gradients: the condition of the update `sgd` is f32[2]; expected "
                    "bool[]"));
}

TEST_F(Minimize, TheTitleIsTheNameOrElseTheOptimizers) {
  Update update = minimize(square(variable("a", 3)), quarter);
  EXPECT_EQ(update.title(), "sgd");
  update.name = "generator";
  EXPECT_EQ(update.title(), "generator");
}

TEST_F(Minimize, UpdatesFromAnOptimizerTakeTheStepsLoss) {
  Variable a = variable("a", 3);
  Tensor loss = square(a), other = a * 2.0;
  Updates none, by_optimizer = adam(), one = minimize(other, quarter),
                two = {minimize(loss, quarter), minimize(other, quarter)};
  EXPECT_TRUE(none.empty());
  EXPECT_TRUE(none.list(loss).empty());
  EXPECT_FALSE(by_optimizer.empty());
  ASSERT_EQ(by_optimizer.list(loss).size(), 1u);
  EXPECT_EQ(by_optimizer.list(loss)[0].loss, loss);
  EXPECT_EQ(by_optimizer.list(loss)[0].optimizer.name, "adam");
  ASSERT_EQ(one.list(loss).size(), 1u);
  EXPECT_EQ(one.list(loss)[0].loss, other);
  ASSERT_EQ(two.list(loss).size(), 2u);
  EXPECT_EQ(two.list(loss)[1].loss, other);
}

}  // namespace
}  // namespace belfry
