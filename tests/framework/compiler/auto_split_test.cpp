#include "belfry/framework/compiler/auto_split.h"

#include "belfry/framework/graph/scope.h"
#include "compiler_testing.h"

namespace belfry {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::StartsWith;

class Splitting : public ::testing::Test {
 protected:
  // x [4, in] times a variable [in, out]: 8 in out operations.
  Tensor times(Tensor t, const std::string& name, std::int64_t out) {
    Scope s(graph);
    weights.push_back(s.variable(name, {.shape = {t.size(1), out}}));
    return matmul(t, weights.back());
  }
  std::vector<Node*> nodes() { return computing_nodes(graph, 0, graph.size()); }

  Graph graph;
  std::vector<Variable> weights;
  Tensor x = f32(graph, "x", {4, 16});
};

TEST_F(Splitting, WorkIsSharedEvenly) {
  Tensor t = x;
  for (int i = 0; i < 6; ++i) t = times(t, "w" + text(i), 16);
  for (int slots : {1, 2, 3, 6}) {
    SplitPlan plan = plan_split(nodes(), slots);
    ASSERT_EQ(plan.slots.size(), static_cast<std::size_t>(slots));
    for (const auto& slot : plan.slots) {
      EXPECT_EQ(slot.flops, 8.0 * 16 * 16 * 6 / slots);
      EXPECT_EQ(slot.bytes, 16 * 16 * 4 * 6 / slots);
    }
  }
  EXPECT_THAT(plan_split(nodes(), 3).cuts, ElementsAre(2, 4));
}

TEST_F(Splitting, TheHeaviestSlotIsAsLightAsCanBe) {
  Tensor t = times(x, "a", 16);  // 256 of the 256 + 256 + 1024 + 4096 + 64 * 16 units of work
  t = times(t, "b", 16);
  t = times(t, "c", 64);
  t = times(t, "d", 64);
  times(t, "e", 16);
  EXPECT_THAT(plan_split(nodes(), 2).cuts, ElementsAre(3));     // 1536 and 5120
  EXPECT_THAT(plan_split(nodes(), 3).cuts, ElementsAre(3, 4));  // 1536, 4096, 1024
}

TEST_F(Splitting, OfEvenCutsTheOneThatFewestBytesCross) {
  Tensor wide = relu(times(x, "a", 64));      // 1024 units of work
  Tensor narrow = relu(times(wide, "b", 2));  // 128
  times(narrow, "c", 512);                    // 1024
  // Wherever it is cut, one slot has 1152; 1024 bytes cross before b, 32 behind it.
  EXPECT_THAT(plan_split(nodes(), 2).cuts, ElementsAre(3));
}

TEST_F(Splitting, MemoryCountsWhereThereIsNoWork) {
  Tensor t = times(x, "a", 16);
  for (const char* name : {"large", "as_large"}) {
    Variable v = Scope(graph).variable(name, {.shape = {1000, 16}});
    t = t + slice(v, {.begin = {0, 0}, .size = {4, 16}});
  }
  times(t, "b", 16);
  EXPECT_THAT(plan_split(nodes(), 2).cuts, ElementsAre(3));  // of a, slice, add, slice, add, b
}

TEST_F(Splitting, WhatBackwardReadsCountsForEveryPass) {
  Tensor a = times(x, "a", 8);
  Tensor b = exp(a);  // its gradient reads b
  Tensor c = times(b, "c", 4);
  Tensor loss = sum(c * c);  // reads c
  std::vector<SplitTarget> targets{{loss, weights, 2}};
  for (int passes : {1, 3}) {
    SplitPlan plan = plan_split(nodes(), 1, targets, passes);
    // Value, gradient and two slots of [16, 8] and [8, 4]; b [4, 8] and c [4, 4].
    EXPECT_EQ(plan.slots[0].bytes, 4 * 4 * (128 + 32) + 4 * passes * (32 + 16)) << passes;
  }
  EXPECT_THAT(to_string(plan_split(nodes(), 2, targets)), StartsWith("slot 0: "));
}

TEST_F(Splitting, PlacesNodesAndTheirVariables) {
  Tensor a = times(x, "a", 16), b = times(a, "b", 16), c = times(b, "c", 16);
  Tensor tied = matmul(c, weights[0]);
  std::vector<std::vector<Node*>> passes{nodes()};
  place_split(graph, plan_split(passes[0], 2), passes);
  EXPECT_EQ(a.node().slot(), 0);
  EXPECT_EQ(tied.node().slot(), 1);
  EXPECT_EQ(weights[0].node().slot(), 0);  // read there first
  EXPECT_EQ(weights[2].node().slot(), c.node().slot());
}

TEST_F(Splitting, Errors) {
  Tensor a = times(x, "a", 16), b = times(a, "b", 16);
  EXPECT_THAT(error_of([&] { plan_split(nodes(), 3); }),
              HasSubstr("has 2 operations, which cannot be cut into 3 slots"));
  std::vector<std::vector<Node*>> uneven{nodes(), {&a.node()}};
  SplitPlan plan = plan_split(uneven[0], 2);
  EXPECT_THAT(error_of([&] { place_split(graph, plan, uneven); }),
              HasSubstr("builds 2 operations for one batch and 1 for another"));
  Tensor c{apply(relu_op, (Scope(graph) / "head").on(1), {b})};
  std::vector<std::vector<Node*>> passes{nodes()};
  EXPECT_THAT(error_of([&] { place_split(graph, plan, passes); }), StartsWith("split: "));
  EXPECT_THAT(error_of([&] { place_split(graph, plan, passes); }),
              HasSubstr("(at head) on slot 1"));
}

}  // namespace
}  // namespace belfry
