// Covers batch_norm.cpp, layer_norm.cpp, group_norm.
#include <cmath>

#include "belfry/framework/graph/scope.h"
#include "belfry/framework/layers/layers.h"
#include "belfry/framework/ops/math.h"
#include "belfry/framework/ops/ops.h"
#include "layers_support.h"

namespace belfry::testing {
namespace {

std::string kinds(const Graph& graph) {
  std::string out;
  for (Node* node : graph.variables()) {
    Variable v(*node);
    out += v.name() + ":" + to_string(v.options().kind) + ":" + to_string(v.type()) + ":"
           + to_string(v.options().initializer) + "\n";
  }
  return out;
}

// Rows (1, 10), (3, 10), (5, 40): means 3 and 20, biased variances 8/3 and 200.
Tensor rows(Graph& graph) { return tensor(graph, {3, 2}, {1.0f, 10.0f, 3.0f, 10.0f, 5.0f, 40.0f}); }

TEST(BatchNormLayer, NormalisesWithTheBatchInTraining) {
  Graph graph;
  Tensor y = batch_norm(Scope(graph) / "bn", rows(graph), {.training = true, .epsilon = 1.0 / 3});
  double a = 2 / std::sqrt(3.0), b = std::sqrt(200 + 1.0 / 3);
  EXPECT_THAT(values(y), near_values({-a, -10 / b, 0, -10 / b, a, 20 / b}));
  EXPECT_THAT(
      values(y, {{"bn/scale", Array::of({2.0f, 1.0f})}, {"bn/offset", Array::of({0.5f, 0.0f})}}),
      near_values({0.5 - 2 * a, -10 / b, 0.5, -10 / b, 0.5 + 2 * a, 20 / b}));
}

TEST(BatchNormLayer, UpdatesTheMovingStatistics) {
  Graph graph;
  batch_norm(Scope(graph) / "bn", rows(graph), {.training = true, .momentum = 0.75});
  std::map<std::string, Array> before{{"bn/moving_mean", Array::of({7.0f, 0.0f})},
                                      {"bn/moving_variance", Array::of({8.0f, 100.0f})}};
  EXPECT_THAT(after_step(graph, "bn/moving_mean", before), near_values({6, 5}));
  // With Bessel's correction the variances are 4 and 300.
  EXPECT_THAT(after_step(graph, "bn/moving_variance", before), near_values({7, 150}));
  EXPECT_THAT(after_step(graph, "bn/moving_mean"), near_values({0.75, 5}));
  EXPECT_THAT(after_step(graph, "bn/moving_variance"), near_values({1.75, 75.75}));
}

TEST(BatchNormLayer, NormalisesWithTheMovingStatisticsOtherwise) {
  Graph graph;
  Tensor y = batch_norm(Scope(graph) / "bn", rows(graph), {.training = false, .epsilon = 0.25});
  EXPECT_TRUE(graph.effects().empty());
  EXPECT_THAT(values(y, {{"bn/moving_mean", Array::of({3.0f, 10.0f})},
                         {"bn/moving_variance", Array::of({3.75f, 99.75f})},
                         {"bn/offset", Array::of({0.0f, 1.0f})}}),
              near_values({-1, 1, 0, 1, 1, 4}));
}

TEST(BatchNormLayer, ItsVariables) {
  Graph graph;
  Tensor x = input(graph, "x", {{2, 4, 4, 3}, DType::bf16});
  Tensor y = batch_norm(Scope(graph) / "bn", x, {.training = true});
  EXPECT_EQ(y.type(), x.type());
  EXPECT_EQ(kinds(graph),
            "bn/scale:parameter:f32[3]:constant(1)\n"
            "bn/offset:parameter:f32[3]:constant(0)\n"
            "bn/moving_mean:statistic:f32[3]:constant(0)\n"
            "bn/moving_variance:statistic:f32[3]:constant(1)\n");
  for (const auto& node : graph) {
    if (!node->op().reference) continue;
    EXPECT_EQ(node->scope(), "bn") << to_string(*node);
  }

  Graph bare;
  batch_norm(Scope(bare) / "bn", input(bare, "x", {{2, 3}, DType::f64}),
             {.training = false, .scale = false, .center = false});
  EXPECT_EQ(kinds(bare),
            "bn/moving_mean:statistic:f64[3]:constant(0)\n"
            "bn/moving_variance:statistic:f64[3]:constant(1)\n");
}

TEST(BatchNormLayer, ABatchOfOneKeepsItsVarianceAndAnEmptyOneChangesNothing) {
  Graph one;
  batch_norm(Scope(one) / "bn", tensor(one, {1, 1}, {5.0f}), {.training = true, .momentum = 0.5});
  EXPECT_THAT(after_step(one, "bn/moving_mean"), near_values({2.5}));
  EXPECT_THAT(after_step(one, "bn/moving_variance"), near_values({0.5}));
  Graph none;
  Tensor y =
      batch_norm(Scope(none) / "bn", constant(none, Array::zeros({0, 2})), {.training = true});
  EXPECT_TRUE(none.effects().empty());
  EXPECT_TRUE(values(y).empty());
}

TEST(BatchNormLayer, CallsThatShareVariablesEnterInTurn) {
  Graph graph;
  Network net(Scope(graph) / "d", [](Scope s, Tensor x) {
    return batch_norm(s / "bn", x, {.training = true, .momentum = 0.5});
  });
  net(tensor(graph, {2, 1}, {4.0f, 4.0f}));
  net(tensor(graph, {2, 1}, {6.0f, 10.0f}));
  // Means 4, then 8: 0 -> 2 -> 5. Variances 0, then 8 with Bessel's correction: 1 -> 0.5 -> 4.25.
  EXPECT_THAT(after_step(graph, "d/bn/moving_mean"), near_values({5}));
  EXPECT_THAT(after_step(graph, "d/bn/moving_variance"), near_values({4.25}));
}

TEST(BatchNormLayer, NoGradientFlowsIntoTheStatistics) {
  Graph graph;
  Tensor x = rows(graph);
  batch_norm(Scope(graph) / "bn", x, {.training = true});
  for (Node* effect : graph.effects())
    EXPECT_FALSE(gradients(sum(effect->input(1)), std::vector{x})[0].defined());
}

TEST(LayerNormLayer, NormalisesEachRow) {
  Graph graph;
  Tensor x = tensor(graph, {2, 2}, {1.0f, 5.0f, -10.0f, 10.0f});
  Tensor y = layer_norm(Scope(graph) / "ln", x, {.epsilon = 0.25});
  double a = 2 / std::sqrt(4.25), b = 10 / std::sqrt(100.25);
  EXPECT_THAT(values(y), near_values({-a, a, -b, b}));
  EXPECT_THAT(
      values(y, {{"ln/scale", Array::of({2.0f, 1.0f})}, {"ln/offset", Array::of({0.0f, 1.0f})}}),
      near_values({-2 * a, a + 1, -2 * b, b + 1}));
  EXPECT_EQ(kinds(graph),
            "ln/scale:parameter:f32[2]:constant(1)\n"
            "ln/offset:parameter:f32[2]:constant(0)\n");
}

TEST(GroupNormLayer, NormalisesEachExampleByGroups) {
  Graph graph;
  // Two pixels of four channels in two groups: (1, 3, 5, 7) and (10, 10, 10, 30).
  Tensor x = tensor(graph, {1, 2, 4}, {1.0f, 3.0f, 10.0f, 10.0f, 5.0f, 7.0f, 10.0f, 30.0f});
  Tensor y = group_norm(Scope(graph) / "gn", x, {.groups = 2, .epsilon = 4, .center = false});
  double a = 1 / 3.0, b = 5 / std::sqrt(79.0);
  EXPECT_THAT(values(y), near_values({-3 * a, -a, -b, -b, a, 3 * a, -b, 3 * b}));
  EXPECT_EQ(kinds(graph), "gn/scale:parameter:f32[4]:constant(1)\n");
}

TEST(Normalization, GradientsAgreeWithDifferences) {
  auto check = [](auto layer) {
    return check_op({.build =
                         [layer](const Scope& s, std::span<const Tensor> x) {
                           return std::vector<Tensor>{layer(s / "norm", x[0])};
                         },
                     .inputs = {noise({3, 2, 2, 4})}});
  };
  EXPECT_EQ(check([](Scope s, Tensor x) { return batch_norm(s, x, {.training = true}); }), "");
  EXPECT_EQ(check([](Scope s, Tensor x) { return batch_norm(s, x, {.training = false}); }), "");
  EXPECT_EQ(check([](Scope s, Tensor x) { return layer_norm(s, x); }), "");
  EXPECT_EQ(check([](Scope s, Tensor x) { return group_norm(s, x, {.groups = 2}); }), "");
}

TEST(Normalization, ErrorsSayWhatAndWhere) {
  Graph graph;
  Scope s = Scope(graph) / "here";
  Tensor x = input(graph, "x", {{2, 6}, DType::f32}), v = input(graph, "v", {{6}, DType::f32});
  EXPECT_EQ(error_of([&] { batch_norm(s, x, {.training = true, .momentum = 1.5}); }),
            "batch_norm: momentum must be in [0, 1], got 1.5 (at here)");
  EXPECT_EQ(error_of([&] { batch_norm(s, x, {.training = true, .epsilon = 0}); }),
            "batch_norm: epsilon must be positive, got 0 (at here)");
  EXPECT_EQ(error_of([&] { batch_norm(s, v, {.training = true}); }),
            "batch_norm: x must have at least 2 axes, got f32[6] (at here)");
  EXPECT_EQ(error_of([&] { layer_norm(s, x, {.epsilon = -1}); }),
            "layer_norm: epsilon must be positive, got -1 (at here)");
  EXPECT_EQ(error_of([&] { group_norm(s, x); }),
            "group_norm: 32 groups do not divide 6 channels (at here)");
  EXPECT_EQ(error_of([&] { group_norm(s, x, {.groups = 2, .epsilon = 0}); }),
            "group_norm: epsilon must be positive, got 0 (at here)");
}

}  // namespace
}  // namespace belfry::testing
