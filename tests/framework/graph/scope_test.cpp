#include "belfry/framework/graph/scope.h"

#include <gmock/gmock.h>

namespace belfry {
namespace {

using ::testing::ElementsAre;
using ::testing::StrEq;
using ::testing::ThrowsMessage;

TEST(Scope, PathsGrowBySlash) {
  Graph graph;
  Scope s(graph);
  EXPECT_EQ(s.path(), "");
  EXPECT_EQ((s / "a").path(), "a");
  EXPECT_EQ((s / "a" / "b").path(), "a/b");
  EXPECT_EQ(s.path(), "");
  EXPECT_EQ(&(s / "a").graph(), &graph);
}

TEST(Scope, NamesAreChecked) {
  Graph graph;
  Scope s(graph);
  EXPECT_THAT(
      [&] { s / ""; },
      ThrowsMessage<Error>(StrEq("scope: `` is not a name; one is not empty and has no '/'")));
  EXPECT_THAT(
      [&] { s / "a/b"; },
      ThrowsMessage<Error>(StrEq("scope: `a/b` is not a name; one is not empty and has no '/'")));
  EXPECT_THROW(s / "a\nb", Error);
  EXPECT_THROW(s / "\x7f", Error);
  EXPECT_THAT(
      [&] {
        s / "a" / "gr\xF6\xDF" "e";
      },
      ThrowsMessage<Error>(StrEq("scope: a name under `a` is not UTF-8, as files need")));
  EXPECT_EQ((s / "größe 1").path(), "größe 1");
}

TEST(Scope, OnPlacesOnADevice) {
  Graph graph;
  Scope s = (Scope(graph) / "a").on(2);
  EXPECT_EQ(s.placement().device, 2);
  EXPECT_EQ((s / "b").placement().device, 2);
  EXPECT_EQ(s.variable("v", {}).node().device(), 2);
  EXPECT_THAT([&] { s.on(-1); },
              ThrowsMessage<Error>(StrEq("scope: device -1 is negative (at a)")));
}

TEST(Scope, VariablesAreNamedByTheirPath) {
  Graph graph;
  Variable v = (Scope(graph) / "conv1").variable("kernel", {.shape = {5, 5, 1, 32}});
  EXPECT_EQ(v.name(), "conv1/kernel");
  EXPECT_EQ(v.node().scope(), "conv1");
  EXPECT_EQ(to_string(v.options().initializer), "constant(0)");
}

TEST(Scope, AVariableTwiceIsAnError) {
  Graph graph;
  Scope s = Scope(graph) / "fc";
  s.variable("kernel", {.shape = {2}});
  EXPECT_THAT([&] { s.variable("kernel", {.shape = {2}}); },
              ThrowsMessage<Error>(
                  StrEq("variable `fc/kernel` exists already; give the layer a scope of its own, "
                        "or wrap the layers in a Network to share them")));
}

TEST(Scope, ASharedScopeUsesVariablesAgain) {
  Graph graph;
  Scope s = Scope(graph) / "fc";
  Variable v = s.variable("kernel", {.shape = {2}});
  EXPECT_EQ(s.shared().variable("kernel", {.shape = {2}}), v);
  EXPECT_EQ((Scope(graph).shared() / "fc").variable("kernel", {.shape = {2}}), v);
  EXPECT_EQ(graph.variables().size(), 1u);
  EXPECT_EQ(s.shared().variable("bias", {.shape = {2}}).name(), "fc/bias");
  EXPECT_THAT([&] { s.shared().variable("kernel", {.shape = {3}}); },
              ThrowsMessage<Error>(
                  StrEq("variable `fc/kernel` exists as f32[2] and cannot be shared as f32[3]")));
}

TEST(Scope, StreamsDifferByPathAndByCall) {
  Graph graph;
  Scope a = Scope(graph) / "a", b = Scope(graph) / "b";
  std::uint64_t a0 = a.next_stream(), a1 = a.next_stream(), b0 = b.next_stream();
  EXPECT_NE(a0, a1);
  EXPECT_NE(a0, b0);
  Graph again;
  EXPECT_EQ((Scope(again) / "b").next_stream(), b0);  // whatever other scopes drew before
}

TEST(TrainableVariables, AreTheParametersUnderAPath) {
  Graph graph;
  Scope s(graph);
  Variable a = (s / "d" / "fc").variable("kernel", {});
  Variable b = (s / "d").variable("bias", {});
  (s / "d").variable("moving_mean", {.kind = VariableKind::statistic});
  (s / "d").variable("momentum", {.kind = VariableKind::slot});
  Variable c = (s / "down").variable("kernel", {});
  EXPECT_THAT(trainable_variables(graph, "d"), ElementsAre(a, b));
  EXPECT_THAT(trainable_variables(graph), ElementsAre(a, b, c));
  EXPECT_TRUE(trainable_variables(graph, "g").empty());
}

TEST(Scope, ConstantsArePlacedInIt) {
  Graph graph;
  Scope s = (Scope(graph) / "a").on(1);
  Tensor c = constant(s, Array::of({1.5, -2.0})), n = constant(s, 3, DType::i32);
  for (const Tensor& t : {c, n}) {
    EXPECT_EQ(t.node().scope(), "a");
    EXPECT_EQ(t.node().device(), 1);
  }
  EXPECT_EQ(to_string(c.type()), "f64[2]");
  EXPECT_EQ(n.node().as<ConstantOptions>().value.item(), 3);
  EXPECT_EQ(constant(graph, 3, DType::i32).node().scope(), "");
}

}  // namespace
}  // namespace belfry
