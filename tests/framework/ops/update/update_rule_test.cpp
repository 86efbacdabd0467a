#include "belfry/framework/ops/update/update_rule.h"

#include <gmock/gmock.h>

#include "belfry/framework/graph/scope.h"

namespace belfry {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Throws;

TEST(UpdateLayout, SaysWhereInputsLie) {
  UpdateLayout layout = update_layout<update::Adam>({}, 2 + 3 * 4);
  EXPECT_EQ(layout.scalars, 2);
  EXPECT_FALSE(layout.condition);
  EXPECT_EQ(layout.groups(2 + 3 * 4), 3);
  EXPECT_EQ(layout.variable(1), 6);
  EXPECT_EQ(layout.gradient(1), 7);
  EXPECT_EQ(layout.slot(1, 1), 9);
  EXPECT_EQ(update_layout<update::Rmsprop>({.momentum = 0.9, .centered = true}, 6).slots, 3);
  EXPECT_EQ(update_layout<update::Rmsprop>({}, 4).slots, 1);
}

TEST(UpdateLayout, OneInputMoreIsTheCondition) {
  for (std::size_t groups : {1u, 2u, 7u}) {
    EXPECT_FALSE(update_layout<update::Sgd>({}, 1 + 2 * groups).condition);
    UpdateLayout layout = update_layout<update::Sgd>({}, 2 + 2 * groups);
    EXPECT_TRUE(layout.condition);
    EXPECT_EQ(layout.groups(2 + 2 * groups), static_cast<int>(groups));
    EXPECT_EQ(layout.variable(0), 2);
    EXPECT_EQ(layout.gradient(1), 5);
  }
}

TEST(UpdateLayout, SlotsInFewerBitsNeedTheRandomState) {
  AdamUpdateOptions o{.state = OptimizerState::bf16};
  for (bool condition : {false, true}) {
    UpdateLayout layout = update_layout<update::Adam>(o, condition ? 12 : 11);
    EXPECT_TRUE(layout.random);
    EXPECT_EQ(layout.random_state(), 2);
    EXPECT_EQ(layout.condition, condition);
    EXPECT_EQ(layout.condition_input(), 3);
    EXPECT_EQ(layout.groups(condition ? 12 : 11), 2);
    EXPECT_EQ(layout.variable(1), condition ? 8 : 7);
  }
}

struct UpdateNode : testing::Test {
  Variable variable(std::string_view name, Shape shape, DType dtype = DType::f32) {
    return scope.variable(name, {.shape = shape, .dtype = dtype});
  }
  Tensor gradient(std::string_view name, Shape shape, DType dtype = DType::f32) {
    return input(graph, std::string(name), {shape, dtype});
  }
  static auto fails(const std::string& text) {
    return Throws<Error>(testing::Property(&Error::what, HasSubstr(text)));
  }
  Graph graph;
  Scope scope{graph};
  Tensor rate = constant(graph, 0.1, DType::f32);
  Tensor step = global_step(graph);
};

TEST_F(UpdateNode, MutatesVariablesAndSlots) {
  Variable a = variable("a", {2}), b = variable("b", {3}), m = variable("m", {2}),
           v = variable("v", {2}), m2 = variable("m2", {3}), v2 = variable("v2", {3});
  UpdateGroup groups[] = {{a, gradient("ga", {2}), {m, v}}, {b, gradient("gb", {3}), {m2, v2}}};
  Node& node = adam_update(rate, step, groups);
  EXPECT_TRUE(node.outputs().empty());
  EXPECT_THAT(node.mutated(), ElementsAre(2, 4, 5, 6, 8, 9));
  EXPECT_THAT(graph.effects(), ElementsAre(&node));
}

TEST_F(UpdateNode, TheConditionStandsBeforeTheGroups) {
  Variable a = variable("a", {2}), m = variable("m", {2});
  UpdateGroup groups[] = {{a, gradient("ga", {2}), {m}}};
  Tensor condition = input(graph, "condition", {{}, DType::boolean});
  Node& node = momentum_update(rate, groups, {}, condition);
  EXPECT_EQ(node.input(1), condition);
  EXPECT_THAT(node.mutated(), ElementsAre(2, 4));
}

TEST_F(UpdateNode, SlotsMayBeInFewerBits) {
  Variable a = variable("a", {5000}), m = variable("m", {5000}, DType::bf16),
           b = variable("b", {20, 260}, DType::u8);
  Tensor g = gradient("g", {5000}), condition = input(graph, "condition", {{}, DType::boolean});
  UpdateGroup half[] = {{a, g, {m}}}, quarter[] = {{a, g, {b}}}, whole[] = {{a, g, {a}}};
  EXPECT_EQ(state_of(half[0]), OptimizerState::bf16);
  EXPECT_EQ(state_of(quarter[0]), OptimizerState::eight_bits);
  EXPECT_EQ(state_of(whole[0]), OptimizerState::as_variable);
  Node& node = momentum_update(rate, half, {.state = OptimizerState::bf16}, condition);
  EXPECT_EQ(node.input(1), random_state(graph));
  EXPECT_EQ(node.input(2), condition);
  EXPECT_THAT(node.mutated(), ElementsAre(3, 5));
  momentum_update(rate, quarter, {.state = OptimizerState::eight_bits});
  EXPECT_THAT([&] { momentum_update(rate, half, {.state = OptimizerState::eight_bits}); },
              fails("momentum_update: variable 0 is f32[5000] but its slot 0 is bf16[5000]; "
                    "expected u8[20, 260]"));
  EXPECT_THAT([&] { momentum_update(rate, half); },
              fails("momentum_update: variable 0 is f32[5000] but its slot 0 is bf16[5000]"));
}

TEST_F(UpdateNode, Errors) {
  Variable a = variable("a", {2}), b = variable("b", {3}), m = variable("m", {2}),
           d = variable("d", {2}, DType::f64), i = variable("i", {2}, DType::i64);
  Tensor g = gradient("g", {2}), gd = gradient("gd", {2}, DType::f64),
         gi = gradient("gi", {2}, DType::i64);
  using Groups = std::vector<UpdateGroup>;
  EXPECT_THAT([&] { sgd_update(rate, {}); }, fails("sgd_update: no variables to update"));
  EXPECT_THAT([&] { sgd_update(rate, Groups{{}}); }, fails("sgd_update: a variable is undefined"));
  EXPECT_THAT(
      [&] {
        sgd_update(rate, Groups{{a, {}}});
      },
      fails("sgd_update: input 2 is undefined"));
  EXPECT_THAT(
      [&] {
        sgd_update(rate, Groups{{a, g}, {a, g}});
      },
      fails("sgd_update: variable `a` is listed twice"));
  EXPECT_THAT(
      [&] {
        momentum_update(rate, Groups{{a, g, {a}}});
      },
      fails("momentum_update: variable `a` is listed twice"));
  EXPECT_THAT(
      [&] {
        momentum_update(rate, Groups{{a, g}});
      },
      fails("momentum_update: variable `a` comes with 0 slots; expected 1"));
  EXPECT_THAT(
      [&] {
        sgd_update(rate, Groups{{b, g}});
      },
      fails("sgd_update: variable 0 is f32[3] but its gradient is f32[2]"));
  EXPECT_THAT(
      [&] {
        momentum_update(rate, Groups{{a, g, {b}}});
      },
      fails("momentum_update: variable 0 is f32[2] but its slot 0 is f32[3]"));
  EXPECT_THAT(
      [&] {
        sgd_update(rate, Groups{{a, g}, {d, gd}});
      },
      fails("sgd_update: variable 1 is f64[2] but variable 0 is of type f32; update each "
            "dtype with a node of its own"));
  EXPECT_THAT(
      [&] {
        sgd_update(rate, Groups{{i, gi}});
      },
      fails("sgd_update: variable 0 is i64[2]; only floating variables can be updated"));
  EXPECT_THAT(
      [&] {
        sgd_update(g, Groups{{a, g}});
      },
      fails("sgd_update: the learning rate is f32[2]; expected f32[]"));
  EXPECT_THAT(
      [&] {
        sgd_update(rate, Groups{{a, g}}, {}, g);
      },
      fails("sgd_update: the condition is f32[2]; expected bool[]"));
  EXPECT_THAT(
      [&] {
        adam_update(rate, rate, Groups{{a, g, {m, variable("v", {2})}}});
      },
      fails("adam_update: the step is f32[]; expected i64[]"));
}

}  // namespace
}  // namespace belfry
