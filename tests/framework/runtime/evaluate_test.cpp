#include "belfry/framework/runtime/evaluate.h"

#include <gtest/gtest.h>

#include "belfry/framework/graph/scope.h"
#include "belfry/framework/ops/ops.h"

namespace belfry {
namespace {

TEST(Evaluate, GivesTheOutputs) {
  Graph graph;
  Tensor x = input(graph, "x", {{2}, DType::f32});
  for (bool fast : {false, true}) {
    auto out = evaluate({x + 1.0, sum(x)}, {{"x", Array::of({1.f, 2.f})}}, {.fast = fast});
    ASSERT_EQ(out.size(), 2u);
    EXPECT_EQ(out[0].at(1), 3);
    EXPECT_EQ(out[1].item(), 3);
  }
}

TEST(Evaluate, VariablesHaveTheirFirstValueUnlessTold) {
  Graph graph;
  Variable w = Scope(graph).variable("w", {.shape = {}, .initializer = constant_value(5)});
  assign(w, w + 1.0);
  Evaluator evaluator({w + 0.0});
  EXPECT_EQ(evaluator()[0].item(), 5);
  EXPECT_EQ(evaluator()[0].item(), 5);  // effects do not run
  EXPECT_EQ(evaluator({{"w", Array::scalar(9.f)}})[0].item(), 9);
  EXPECT_EQ(evaluator()[0].item(), 9);  // which stays
}

TEST(Evaluate, ResultsAreTheCallersOwn) {
  Graph graph;
  Tensor x = input(graph, "x", {{}, DType::f32});
  Evaluator evaluator({x * 2.0});
  Array first = evaluator({{"x", Array::scalar(1.f)}})[0];
  evaluator({{"x", Array::scalar(8.f)}});
  EXPECT_EQ(first.item(), 2);
}

TEST(Evaluate, SeedAndStepAreOptions) {
  Graph graph;
  Tensor step = global_step(graph), noise = random_normal(Scope(graph) / "n", {3});
  EXPECT_EQ(evaluate({step}, {}, {.step = 12})[0].item(), 12);
  Array a = evaluate({noise}, {}, {.seed = 1})[0], b = evaluate({noise}, {}, {.seed = 1})[0];
  EXPECT_TRUE(identical(a, b));
  EXPECT_FALSE(identical(a, evaluate({noise}, {}, {.seed = 2})[0]));
}

}  // namespace
}  // namespace belfry
