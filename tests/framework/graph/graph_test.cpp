#include "belfry/framework/graph/graph.h"

#include <gmock/gmock.h>

#include "belfry/framework/graph/leaves.h"
#include "belfry/framework/graph/scope.h"
#include "test_ops.h"

namespace belfry {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::StrEq;
using ::testing::ThrowsMessage;

const TensorType row{{3}, DType::f32};

TEST(Graph, NodesKnowWhatTheyAreMadeOf) {
  Graph graph;
  Tensor x = input(graph, "x", row);
  Node& node = apply(scale_op, {x}, ScaleOptions{.factor = 2});
  EXPECT_EQ(&node.op(), &scale_op);
  EXPECT_EQ(node.id(), 1);
  EXPECT_EQ(&node.graph(), &graph);
  EXPECT_THAT(node.inputs(), ElementsAre(x));
  EXPECT_THAT(node.outputs(), ElementsAre(row));
  EXPECT_EQ(node.as<ScaleOptions>().factor, 2);
  EXPECT_TRUE(node.is(scale_op));
  EXPECT_FALSE(node.is(join_op));
  EXPECT_TRUE(node.mutated().empty());
  EXPECT_EQ(graph.size(), 2u);
  EXPECT_EQ(&graph.node(1), &node);
}

TEST(Graph, TensorsAreHandlesToOutputs) {
  Graph graph;
  Tensor x = input(graph, "x", {{2, 5}, DType::u8});
  Node& node = apply(measure_op, {x});
  Tensor size(node, 1);
  EXPECT_EQ(size.shape(), Shape{});
  EXPECT_EQ(size.dtype(), DType::i64);
  EXPECT_EQ(size.index(), 1);
  EXPECT_EQ(x.rank(), 2);
  EXPECT_EQ(x.size(0), 2);
  EXPECT_EQ(x.size(-1), 5);
  EXPECT_EQ(Tensor(node), Tensor(node, 0));
  EXPECT_NE(Tensor(node), size);
  EXPECT_THAT([&] { x.size(2); }, ThrowsMessage<Error>(HasSubstr("tensor: size")));
}

TEST(Graph, AnUndefinedTensorSaysSo) {
  EXPECT_FALSE(Tensor().defined());
  EXPECT_THAT([] { Tensor().shape(); },
              ThrowsMessage<Error>(
                  StrEq("tensor: undefined; it was default-constructed and never assigned")));
}

TEST(Graph, ApplyRefusesUndefinedAndMissingInputs) {
  Graph graph;
  Tensor x = input(graph, "x", row);
  EXPECT_THAT([] { apply(scale_op, {Tensor()}); },
              ThrowsMessage<Error>(StrEq("scale: input 0 is undefined")));
  EXPECT_THAT(
      [&] {
        apply(join_op, {x, Tensor()});
      },
      ThrowsMessage<Error>(StrEq("join: input 1 is undefined")));
  EXPECT_THAT(
      [] { apply(scale_op, {}); },
      ThrowsMessage<Error>(StrEq("scale: no inputs, so its graph is unknown; pass a Scope")));
}

TEST(Graph, ApplyRefusesTensorsOfAnotherGraph) {
  Graph graph, other;
  Tensor x = input(graph, "x", row), y = input(other, "y", row);
  EXPECT_THAT(
      [&] {
        apply(join_op, {x, y});
      },
      ThrowsMessage<Error>(StrEq("join: input 1 belongs to another graph; tensors live "
                                 "only as long as the model_fn call that made them")));
}

TEST(Graph, ErrorsOfShapeRulesNameTheScopeAndLeaveTheGraphAsItWas) {
  Graph graph;
  Tensor x = input(graph, "x", row), y = input(graph, "y", {{4}, DType::f32});
  Scope s = Scope(graph) / "discriminator" / "down1";
  EXPECT_THAT(
      [&] {
        apply(join_op, s, {x, y});
      },
      ThrowsMessage<Error>(StrEq("join: f32[3] and f32[4] differ (at discriminator/down1)")));
  EXPECT_THAT(
      [&] {
        apply(join_op, {x, y});
      },
      ThrowsMessage<Error>(StrEq("join: f32[3] and f32[4] differ")));
  EXPECT_EQ(graph.size(), 2u);
}

TEST(Graph, NodesWithoutAScopeGoWhereTheirFirstComputedInputIs) {
  Graph graph;
  Scope s(graph);
  Tensor x = input(graph, "x", row);
  Tensor a(apply(scale_op, (s / "a").on(2), {x}));
  Tensor b(apply(scale_op, s / "b", {x}));
  EXPECT_EQ(apply(join_op, {a, b}).scope(), "a");
  EXPECT_EQ(apply(join_op, {x, b}).scope(), "b");  // an input says nothing about its reader
  EXPECT_EQ(apply(join_op, {a, b}).device(), 2);
  EXPECT_EQ(apply(scale_op, {x}).scope(), "");
}

TEST(Graph, APlacementGuardPlacesWhatIsMadeUnderIt) {
  Graph graph;
  Scope s(graph);
  Tensor a(apply(scale_op, s / "a", {input(graph, "x", row)}));
  {
    Graph::PlacementGuard outer(graph, {"outer", 1, Phase::backward});
    {
      Graph::PlacementGuard inner(graph, {"inner", 3, Phase::update});
      Node& node = apply(scale_op, {a});
      EXPECT_EQ(node.scope(), "inner");
      EXPECT_EQ(node.device(), 3);
      EXPECT_EQ(node.phase(), Phase::update);
    }
    EXPECT_EQ(apply(scale_op, {a}).scope(), "outer");
    EXPECT_EQ(constant(graph, 1, DType::f32).node().phase(), Phase::backward);
    EXPECT_EQ(apply(scale_op, s / "named", {a}).scope(), "named");
  }
  EXPECT_EQ(apply(scale_op, {a}).scope(), "a");
}

TEST(Graph, EffectsAndVariablesAreListedInTheOrderOfTheirMaking) {
  Graph graph;
  Scope s(graph);
  Variable v = s.variable("v", {.shape = {3}}), w = s.variable("w", {.shape = {3}});
  Node& second = assign(w, v);
  Node& third = assign(v, w);
  EXPECT_THAT(graph.variables(), ElementsAre(&v.node(), &w.node()));
  EXPECT_THAT(graph.effects(), ElementsAre(&second, &third));
  EXPECT_THAT(second.mutated(), ElementsAre(0));
  EXPECT_TRUE(second.outputs().empty());
}

TEST(Graph, FindsVariablesAndInputsByName) {
  Graph graph;
  Tensor x = input(graph, "x", row);
  Variable v = (Scope(graph) / "fc").variable("kernel", {.shape = {3}});
  EXPECT_EQ(graph.find_variable("fc/kernel"), &v.node());
  EXPECT_EQ(graph.find_variable("kernel"), nullptr);
  EXPECT_EQ(graph.find_input("x"), &x.node());
  EXPECT_EQ(graph.find_input("fc/kernel"), nullptr);
}

TEST(Graph, StreamsOfAScopeAreCounted) {
  Graph graph;
  EXPECT_EQ(graph.next_stream("a"), 0);
  EXPECT_EQ(graph.next_stream("a"), 1);
  EXPECT_EQ(graph.next_stream("b"), 0);
}

TEST(Graph, NodesAndPhasesHaveWords) {
  Graph graph;
  Tensor x = input(graph, "x", row);
  EXPECT_EQ(to_string(apply(scale_op, Scope(graph) / "a" / "b", {x})), "scale (at a/b)");
  EXPECT_EQ(to_string(apply(scale_op, {x})), "scale");
  EXPECT_EQ(to_string(Phase::forward), "forward");
  EXPECT_EQ(to_string(Phase::backward), "backward");
  EXPECT_EQ(to_string(Phase::update), "update");
}

TEST(Graph, GradContextShowsNodeAndGradients) {
  Graph graph;
  Tensor x = input(graph, "x", row);
  Node& node = apply(measure_op, {x});
  std::vector<Tensor> dy{x, Tensor()};
  GradContext context(node, dy);
  EXPECT_EQ(context.input(), x);
  EXPECT_EQ(context.input_count(), 1);
  EXPECT_EQ(context.output(1), Tensor(node, 1));
  EXPECT_EQ(context.dy(), x);
  EXPECT_FALSE(context.dy(1).defined());
  EXPECT_THAT(no_gradient(context), ElementsAre(Tensor()));
}

}  // namespace
}  // namespace belfry
