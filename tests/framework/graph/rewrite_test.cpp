#include "belfry/framework/graph/rewrite.h"

#include <gmock/gmock.h>

#include "belfry/framework/graph/leaves.h"
#include "belfry/framework/graph/scope.h"
#include "belfry/framework/graph/verify.h"
#include "test_ops.h"

namespace belfry {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

const TensorType row{{3}, DType::f32};

std::optional<std::vector<Tensor>> keep(const Node&, Rewriting&) { return std::nullopt; }

// x -> first (at a) -> second (at b); `unused` beside them.
struct Chain {
  Graph graph;
  Tensor x = input(graph, "x", row);
  Tensor unused{apply(scale_op, {x}, ScaleOptions{.factor = 9})};
  Tensor first{apply(scale_op, (Scope(graph) / "a").on(1), {x}, ScaleOptions{.factor = 2})};
  Tensor second{apply(scale_op, Scope(graph) / "b", {first}, ScaleOptions{.factor = 3})};
};

TEST(Rewrite, CopiesWhatTheRootsNeed) {
  Chain c;
  Program program = rewrite(std::vector{c.second}, {}, keep);
  verify(program);
  ASSERT_EQ(program.graph->size(), 3u);
  ASSERT_EQ(program.outputs.size(), 1u);
  const Node& second = program.outputs[0].node();
  const Node& first = second.input(0).node();
  EXPECT_EQ(second.as<ScaleOptions>().factor, 3);
  EXPECT_EQ(first.as<ScaleOptions>().factor, 2);
  EXPECT_EQ(first.scope(), "a");
  EXPECT_EQ(first.device(), 1);
  EXPECT_EQ(second.scope(), "b");
  EXPECT_EQ(first.input(0).node().as<InputOptions>().name, "x");
}

TEST(Rewrite, ARuleReplacesNodesAndItsNewNodesTakeTheirPlace) {
  Chain c;
  auto twice = [](const Node& old, Rewriting& to) -> std::optional<std::vector<Tensor>> {
    if (!old.is(scale_op)) return std::nullopt;
    return std::vector{Tensor(apply(join_op, {to(old.input(0)), to(old.input(0))}))};
  };
  Program program = rewrite(std::vector{c.second}, {}, twice);
  verify(program);
  const Node& second = program.outputs[0].node();
  EXPECT_TRUE(second.is(join_op));
  EXPECT_EQ(second.scope(), "b");
  EXPECT_EQ(second.input(0).node().scope(), "a");
  EXPECT_EQ(second.input(0).node().device(), 1);
}

TEST(Rewrite, ARuleMayDropANode) {
  Chain c;
  auto drop = [](const Node& old, Rewriting& to) -> std::optional<std::vector<Tensor>> {
    if (!old.is(scale_op)) return std::nullopt;
    return to.inputs(old);
  };
  Program program = rewrite(std::vector{c.second}, {}, drop);
  EXPECT_EQ(program.graph->size(), 1u);
  EXPECT_TRUE(program.outputs[0].node().is(input_op));
}

TEST(Rewrite, ARuleThatForgetsOutputsIsOurFault) {
  Graph graph;
  Node& node = apply(measure_op, {input(graph, "x", row)});
  auto wrong = [](const Node& old, Rewriting& to) -> std::optional<std::vector<Tensor>> {
    if (!old.is(measure_op)) return std::nullopt;
    return to.inputs(old);
  };
  EXPECT_THAT([&] { rewrite(std::vector{Tensor(node, 1)}, {}, wrong); },
              ThrowsMessage<Error>(HasSubstr("rewrite: wrong number of outputs for measure")));
}

TEST(Rewrite, EffectsAreCopiedAndKeepTheirOrder) {
  Graph graph;
  Scope s(graph);
  Variable v = s.variable("v", {.shape = {3}}), w = s.variable("w", {.shape = {3}});
  Node& first = assign(v, Tensor(apply(scale_op, {w})));
  assign(w, v);  // not wanted
  Node& last = assign(w, Tensor(apply(scale_op, {v})));
  auto drop = [](const Node& old, Rewriting& to) -> std::optional<std::vector<Tensor>> {
    if (old.is(assign_op)) ADD_FAILURE() << "a rule saw an effect";
    if (!old.is(scale_op)) return std::nullopt;
    return to.inputs(old);
  };
  std::vector<Node*> effects{&first, &last};
  Program program = rewrite({}, effects, drop);
  verify(program);
  ASSERT_EQ(program.effects.size(), 2u);
  EXPECT_THAT(program.graph->effects(), ElementsAre(program.effects[0], program.effects[1]));
  EXPECT_EQ(program.effects[0]->input(0).node().as<VariableOptions>().name, "v");
  EXPECT_EQ(program.effects[1]->input(0).node().as<VariableOptions>().name, "w");
  EXPECT_EQ(program.effects[1]->input(1).node().as<VariableOptions>().name, "v");
}

TEST(Rewrite, RulesSeeTheNewGraphAndWhatStandsForOldTensors) {
  Graph graph;
  Tensor x = input(graph, "x", row), y = input(graph, "y", row);
  Tensor joined(apply(join_op, {x, y}));
  Program program =
      rewrite(std::vector{joined}, {},
              [&](const Node& old, Rewriting& to) -> std::optional<std::vector<Tensor>> {
                EXPECT_NE(&to.graph(), &graph);
                if (!old.is(join_op)) return std::nullopt;
                EXPECT_THAT(to.inputs(old), ElementsAre(to(x), to(y)));
                EXPECT_EQ(&to(y).graph(), &to.graph());
                return std::vector{to(y)};
              });
  EXPECT_EQ(program.outputs[0].node().as<InputOptions>().name, "y");
}

TEST(Rewrite, OfNothingIsEmpty) {
  Program program = rewrite({}, {}, keep);
  EXPECT_EQ(program.graph->size(), 0u);
  EXPECT_TRUE(program.outputs.empty());
}

TEST(Rewrite, AProgramCanBeRewrittenAgain) {
  Chain c;
  Program once = rewrite(std::vector{c.second, c.first}, {}, keep);
  Program again = rewrite(once, keep);
  verify(again);
  EXPECT_EQ(again.graph->size(), 3u);
  ASSERT_EQ(again.outputs.size(), 2u);
  EXPECT_EQ(again.outputs[0].node().input(0), again.outputs[1]);
}

TEST(LiveNodes, AreThoseThatARootNeeds) {
  Chain c;
  EXPECT_THAT(live_nodes(c.graph, std::vector{c.first}, {}), ElementsAre(true, false, true, false));
  EXPECT_THAT(live_nodes(c.graph, std::vector{c.second}, {}), ElementsAre(true, false, true, true));
}

TEST(UseCounts, CountReadersAndRoots) {
  Graph graph;
  Tensor x = input(graph, "x", row);
  Node& measure = apply(measure_op, {x});
  Tensor joined(apply(join_op, {Tensor(measure), Tensor(measure)}));
  Program program = rewrite(std::vector{joined, Tensor(measure, 1)}, {}, keep);
  EXPECT_THAT(use_counts(program), ElementsAre(ElementsAre(1), ElementsAre(2, 1), ElementsAre(1)));
}

TEST(UseCounts, DeadReadersDoNotCount) {
  Chain c;
  Program program = rewrite(std::vector{c.second, c.unused}, {}, keep);
  program.outputs.pop_back();
  EXPECT_THAT(use_counts(program),
              ElementsAre(ElementsAre(1), ElementsAre(0), ElementsAre(1), ElementsAre(1)));
}

}  // namespace
}  // namespace belfry
