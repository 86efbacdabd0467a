#include "belfry/framework/graph/verify.h"

#include <gmock/gmock.h>

#include "belfry/framework/graph/leaves.h"
#include "belfry/framework/graph/scope.h"
#include "test_ops.h"

namespace belfry {
namespace {

using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

const TensorType row{{3}, DType::f32};

// A shape rule that changes its mind, as a rule with hidden state would.
int drifting_size = 1;
std::vector<TensorType> drifting_shape(const ShapeContext&) {
  return {{{drifting_size}, DType::f32}};
}
const OpDef drifting_op{.name = "drifting", .shape = drifting_shape, .reference = no_kernel};

// An effect that has an output all the same.
const OpDef talkative_op{
    .name = "talkative", .shape = same_shape, .reference = no_kernel, .mutates = [](const Node&) {
      return std::vector<int>{0};
    }};

auto fails_with(const std::string& text) {
  return ThrowsMessage<Error>(
      HasSubstr("internal error in Belfry, please report it: verify: " + text));
}

TEST(Verify, AcceptsAWellMadeGraph) {
  Graph graph;
  Scope s(graph);
  Variable v = s.variable("v", {.shape = {3}});
  Tensor x = input(graph, "x", row);
  assign(v, Tensor(apply(join_op, {x, v})));
  EXPECT_NO_THROW(verify(graph));
  EXPECT_NO_THROW(verify(Graph()));
}

TEST(Verify, OutputTypesMustBeThoseOfTheShapeRule) {
  Graph graph;
  drifting_size = 1;
  apply(drifting_op, Scope(graph) / "here", {});
  EXPECT_NO_THROW(verify(graph));
  drifting_size = 2;
  EXPECT_THAT([&] { verify(graph); },
              fails_with("drifting (at here) has output types that its shape rule does not give"));
}

TEST(Verify, NamesMustBeUnique) {
  Graph variables;
  for (int i = 0; i < 2; ++i)
    variables.add(variable_op, {}, VariableOptions{.name = "fc/kernel", .type = row}, {});
  EXPECT_THAT([&] { verify(variables); }, fails_with("two variables are named fc/kernel"));
  Graph inputs;
  for (int i = 0; i < 2; ++i) inputs.add(input_op, {}, InputOptions{"image", row}, {});
  EXPECT_THAT([&] { verify(inputs); }, fails_with("two inputs are named image"));
}

TEST(Verify, EffectsHaveNoOutputs) {
  Graph graph;
  Variable v = Scope(graph).variable("v", {.shape = {3}});
  apply(talkative_op, {v});
  EXPECT_THAT([&] { verify(graph); }, fails_with("effect talkative has outputs"));
}

TEST(Verify, OnlyVariablesAreWrittenInPlace) {
  Graph graph;
  Tensor x = input(graph, "x", row);
  EXPECT_THAT(
      [&] {
        apply(assign_op, {x, x});
      },
      ThrowsMessage<Error>(HasSubstr("assign: input 0 is written in place but is not a variable")));
}

TEST(Verify, RootsBelongToTheProgramsGraph) {
  Graph other;
  Tensor stranger = input(other, "x", row);
  Variable v = Scope(other).variable("v", {.shape = {3}});
  Node& effect = assign(v, stranger);
  Program outputs{std::make_unique<Graph>(), {stranger}, {}};
  EXPECT_THAT([&] { verify(outputs); }, fails_with("an output is of another graph"));
  Program undefined{std::make_unique<Graph>(), {Tensor()}, {}};
  EXPECT_THAT([&] { verify(undefined); }, fails_with("an output is of another graph"));
  Program effects{std::make_unique<Graph>(), {}, {&effect}};
  EXPECT_THAT([&] { verify(effects); },
              fails_with("an effect is of another graph or mutates nothing"));
}

TEST(Verify, EffectsMutateSomething) {
  Program program{std::make_unique<Graph>(), {}, {}};
  Tensor x = input(*program.graph, "x", row);
  program.effects = {&x.node()};
  EXPECT_THAT([&] { verify(program); },
              fails_with("an effect is of another graph or mutates nothing"));
}

}  // namespace
}  // namespace belfry
