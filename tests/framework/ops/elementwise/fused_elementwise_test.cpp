#include "belfry/framework/ops/elementwise/fused_elementwise.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "../support.h"
#include "belfry/framework/graph/leaves.h"

namespace belfry {
namespace {

FusedInstruction call(const OpDef& op, int a, int b = -1, int c = -1) { return {&op, {a, b, c}}; }

Array run_reference(const Node& node, std::vector<Array> inputs) {
  std::vector<ArrayView> views;
  for (Array& x : inputs) views.push_back({x.type(), x.raw()});
  Array y(node.output());
  ArrayView out{y.type(), y.raw()};
  node.op().reference({node.op().name, views, {&out, 1}, node.options()});
  return y;
}

TEST(FusedElementwise, ComputesItsProgram) {
  Graph graph;
  Tensor x = input(graph, "x", {{2, 3}, DType::f32}), row = input(graph, "row", {{3}, DType::f32});
  // relu(x + row) * x
  Tensor y = fused_elementwise({x, row}, {call(functor::Add::op, 0, 1), call(functor::Relu::op, 2),
                                          call(functor::Mul::op, 3, 0)});
  EXPECT_EQ(y.type(), (TensorType{{2, 3}, DType::f32}));
  Array out = run_reference(y.node(), {Array::of({1.0f, 2.0f, 3.0f, -4.0f, 5.0f, -6.0f}, {2, 3}),
                                       Array::of({1.0f, -3.0f, 2.0f})});
  EXPECT_TRUE(identical(out, Array::of({2.0f, 0.0f, 15.0f, -0.0f, 10.0f, -0.0f}, {2, 3})));
}

TEST(FusedElementwise, AgreesWithItsReference) {
  std::vector<FusedInstruction> program{call(functor::Add::op, 0, 1), call(functor::Tanh::op, 2),
                                        call(functor::Mul::op, 3, 0),
                                        call(functor::Maximum::op, 4, 1)};
  for (const auto& [a, b] : std::vector<std::pair<Shape, Shape>>{
           {{}, {}}, {{7}, {7}}, {{3, 5}, {5}}, {{5, 1, 33}, {5, 4, 1}}, {{0, 3}, {3}}})
    EXPECT_EQ(check_op({.build = [&](const Scope&, auto x) -> std::vector<Tensor> {
                          return {fused_elementwise({x[0], x[1]}, program)};
                        },
                        .inputs = {testing::noise(a, 1), testing::noise(b, 2)},
                        .gradient = false}),
              "");
}

TEST(FusedElementwise, PassesBooleansOn) {
  Graph graph;
  Tensor a = input(graph, "a", {{3}, DType::f64}), b = input(graph, "b", {{}, DType::f64});
  // a < b ? b : a, which is max(a, b); then whether it is b
  std::vector<FusedInstruction> program{call(functor::Less::op, 0, 1),
                                        call(functor::Where::op, 2, 1, 0),
                                        call(functor::Equal::op, 3, 1)};
  Tensor y = fused_elementwise({a, b}, program);
  EXPECT_EQ(y.type(), (TensorType{{3}, DType::boolean}));
  Array out = run_reference(y.node(), {Array::of({1.0, 2.0, 3.0}), Array::scalar(2.0)});
  EXPECT_TRUE(identical(out, Array::of({true, true, false})));
}

TEST(FusedElementwise, ProgramAsText) {
  EXPECT_EQ(to_string({call(functor::Mul::op, 0, 1), call(functor::Relu::op, 2)}),
            "v2=mul(v0,v1); v3=relu(v2)");
  EXPECT_EQ(to_string({call(functor::Add::op, 0, 1), call(functor::Add::op, 2, 3),
                       call(functor::Mul::op, 4, 5)}),
            "v4=add(v0,v1); v5=add(v2,v3); v6=mul(v4,v5)");
  EXPECT_EQ(to_string({call(functor::Exp::op, 0)}), "v1=exp(v0)");
}

TEST(FusedElementwise, WrongProgramsAreRejected) {
  using ::testing::HasSubstr;
  using ::testing::ThrowsMessage;
  Graph graph;
  Tensor x = input(graph, "x", {{2}, DType::f32});
  EXPECT_THAT([&] { fused_elementwise({x}, {}); },
              ThrowsMessage<Error>(HasSubstr("fused_elementwise: the program is empty")));
  EXPECT_THAT([&] { fused_elementwise({x}, {call(functor::Add::op, 0, 2)}); },
              ThrowsMessage<Error>(HasSubstr("fused_elementwise: add reads value 2 of 1")));
  EXPECT_THAT([&] { fused_elementwise({x}, {call(sum_op, 0)}); },
              ThrowsMessage<Error>(HasSubstr("an instruction is not elementwise")));
}

}  // namespace
}  // namespace belfry
