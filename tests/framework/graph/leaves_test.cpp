#include "belfry/framework/graph/leaves.h"

#include <gmock/gmock.h>

#include "belfry/framework/graph/scope.h"

namespace belfry {
namespace {

using ::testing::HasSubstr;
using ::testing::StrEq;
using ::testing::ThrowsMessage;

TEST(Input, HasTheTypeAndNameGiven) {
  Graph graph;
  Tensor x = input(graph, "image", {{2, 28, 28, 1}, DType::u8});
  EXPECT_EQ(to_string(x.type()), "u8[2, 28, 28, 1]");
  EXPECT_EQ(x.node().as<InputOptions>().name, "image");
  EXPECT_TRUE(x.node().is(input_op));
}

TEST(Input, ANameTwiceIsAnError) {
  Graph graph;
  input(graph, "x", {{1}, DType::f32});
  EXPECT_THAT(
      [&] {
        input(graph, "x", {{2}, DType::f32});
      },
      ThrowsMessage<Error>(StrEq("input: the name `x` is used twice")));
}

TEST(Constant, HoldsItsValue) {
  Graph graph;
  Tensor c = constant(graph, Array::of({1.5, -2.0}));
  EXPECT_EQ(to_string(c.type()), "f64[2]");
  EXPECT_EQ(c.node().as<ConstantOptions>().value.at(1), -2);
  Tensor n = constant(graph, 3, DType::i32);
  EXPECT_EQ(to_string(n.type()), "i32[]");
  EXPECT_EQ(n.node().as<ConstantOptions>().value.item(), 3);
  EXPECT_THAT([&] { constant(graph, Array()); },
              ThrowsMessage<Error>(StrEq("constant: the value is undefined")));
}

TEST(Variable, ReadsAsATensor) {
  Graph graph;
  Variable v =
      (Scope(graph) / "fc")
          .variable("bias", {.shape = {4}, .initializer = ones(), .kind = VariableKind::statistic});
  Tensor value = v;
  EXPECT_EQ(value, v.value());
  EXPECT_EQ(&value.node(), &v.node());
  EXPECT_EQ(v.name(), "fc/bias");
  EXPECT_EQ(v.shape(), Shape{4});
  EXPECT_EQ(to_string(v.type()), "f32[4]");
  EXPECT_EQ(v.options().kind, VariableKind::statistic);
  EXPECT_EQ(to_string(v.options().initializer), "constant(1)");
}

TEST(Variable, KindsHaveWords) {
  EXPECT_EQ(to_string(VariableKind::parameter), "parameter");
  EXPECT_EQ(to_string(VariableKind::statistic), "statistic");
  EXPECT_EQ(to_string(VariableKind::slot), "slot");
}

TEST(Assign, WritesItsFirstInput) {
  Graph graph;
  Variable v = Scope(graph).variable("v", {.shape = {2}});
  Node& node = assign(v, constant(graph, Array::of({1.0f, 2.0f})));
  EXPECT_EQ(node.mutated(), std::vector<int>{0});
  float target[] = {0, 0}, source[] = {1, 2};
  ArrayView views[] = {{v.type(), target}, {v.type(), source}};
  assign_op.reference({"assign", views, {}, node.options()});
  EXPECT_EQ(target[0], 1);
  EXPECT_EQ(target[1], 2);
}

TEST(Assign, TheValueMustHaveTheVariablesType) {
  Graph graph;
  Variable v = (Scope(graph) / "fc").variable("v", {.shape = {2}});
  EXPECT_THAT(
      [&] {
        assign(v, constant(graph, Array::of({1.0, 2.0})));
      },
      ThrowsMessage<Error>(HasSubstr("assign: the variable is f32[2] but the value is "
                                     "f64[2]")));
}

TEST(RuntimeInputs, AreMadeOnce) {
  Graph graph;
  Tensor step = global_step(graph);
  EXPECT_EQ(global_step(graph), step);
  EXPECT_EQ(to_string(step.type()), "i64[]");
  Tensor state = random_state(graph);
  EXPECT_EQ(random_state(graph), state);
  EXPECT_EQ(to_string(state.type()), "i64[3]");
  EXPECT_EQ(graph.find_input("run/global_step"), &step.node());
  EXPECT_EQ(graph.find_input("run/random_state"), &state.node());
  EXPECT_EQ(graph.size(), 2u);
}

}  // namespace
}  // namespace belfry
