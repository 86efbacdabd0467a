#include <gmock/gmock.h>

#include "belfry/framework/graph/scope.h"
#include "test_ops.h"

namespace belfry {
namespace {

using ::testing::ElementsAre;
using ::testing::StrEq;
using ::testing::ThrowsMessage;

const TensorType row{{3}, DType::f32};

Tensor shift(Scope s, Tensor x) {
  return Tensor(apply(join_op, s, {x, s.variable("offset", {.shape = x.shape()})}));
}

TEST(Network, CallsShareVariables) {
  Graph graph;
  Tensor x = input(graph, "x", row), y = input(graph, "y", row);
  Network d(Scope(graph) / "d", shift);
  EXPECT_TRUE(d.variables().empty());
  Tensor real = d(x), fake = d(y);
  EXPECT_NE(real, fake);
  EXPECT_EQ(real.node().input(1), fake.node().input(1));
  ASSERT_EQ(d.variables().size(), 1u);
  EXPECT_EQ(d.variables()[0].name(), "d/offset");
  EXPECT_EQ(d.scope().path(), "d");
}

TEST(Network, ACopyOfACalledOneSharesToo) {
  Graph graph;
  Tensor x = input(graph, "x", row);
  Network d(Scope(graph) / "d", shift);
  d(x);
  Network copy = d;
  copy(x);
  EXPECT_EQ(graph.variables().size(), 1u);
}

TEST(Network, AFirstCallThatMeetsForeignVariablesIsAnError) {
  Graph graph;
  Tensor x = input(graph, "x", row);
  Network first(Scope(graph) / "d", shift), second(Scope(graph) / "d", shift);
  first(x);
  EXPECT_THAT([&] { second(x); },
              ThrowsMessage<Error>(
                  StrEq("variable `d/offset` exists already; give the layer a scope of its own, or "
                        "wrap the layers in a Network to share them")));
}

TEST(Network, TakesSeveralTensors) {
  Graph graph;
  Tensor x = input(graph, "x", row), y = input(graph, "y", row);
  Network pair(Scope(graph) / "pair", [](Scope s, std::span<const Tensor> in) {
    return Tensor(apply(join_op, s, {in[0], in[1]}));
  });
  EXPECT_THAT(pair(x, y).node().inputs(), ElementsAre(x, y));
}

TEST(Network, ABodyOfOneTensorRefusesTwo) {
  Graph graph;
  Tensor x = input(graph, "x", row);
  Network d(Scope(graph) / "d", shift);
  EXPECT_THAT([&] { d(x, x); }, ThrowsMessage<Error>(StrEq("network: d takes one tensor, got 2")));
}

TEST(Network, NetworksInsideOneShareWithIt) {
  Graph graph;
  Tensor x = input(graph, "x", row);
  Network outer(Scope(graph) / "outer", [](Scope s, Tensor t) {
    Network inner(s / "inner", shift);
    return inner(inner(t));
  });
  outer(x);
  outer(x);
  ASSERT_EQ(graph.variables().size(), 1u);
  EXPECT_EQ(outer.variables()[0].name(), "outer/inner/offset");
}

}  // namespace
}  // namespace belfry
