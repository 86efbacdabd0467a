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
  Tensor y = fused_elementwise({x, row}, {{call(functor::Add::op, 0, 1), call(functor::Relu::op, 2),
                                           call(functor::Mul::op, 3, 0)}});
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
                          return {fused_elementwise({x[0], x[1]}, {program})};
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
  Tensor y = fused_elementwise({a, b}, {program});
  EXPECT_EQ(y.type(), (TensorType{{3}, DType::boolean}));
  Array out = run_reference(y.node(), {Array::of({1.0, 2.0, 3.0}), Array::scalar(2.0)});
  EXPECT_TRUE(identical(out, Array::of({true, true, false})));
}

TEST(FusedElementwise, CastsAtItsEnds) {
  Graph graph;
  Tensor bytes = input(graph, "bytes", {{3}, DType::u8}),
         mask = input(graph, "m", {{3}, DType::boolean}),
         half = input(graph, "half", {{}, DType::f16});
  // mask ? bytes * half : half, rounded once
  std::vector<FusedInstruction> program{call(functor::Mul::op, 0, 2),
                                        call(functor::Where::op, 1, 3, 2)};
  Tensor y = fused_elementwise({bytes, mask, half},
                               {.program = program, .casts = true, .result = DType::bf16});
  EXPECT_EQ(y.type(), (TensorType{{3}, DType::bf16}));
  std::vector<Array> inputs{Array::of({std::uint8_t{255}, std::uint8_t{3}, std::uint8_t{129}}),
                            Array::of({true, false, true}),
                            Array::scalar(1.0009765625).cast(DType::f16)};
  // 255.249 lies between 255 and 256, 129.126 between 129 and 130, which bf16 holds.
  EXPECT_TRUE(identical(run_reference(y.node(), inputs),
                        Array::of({255.0f, 1.0f, 129.0f}).cast(DType::bf16)));
  Array fast = evaluate(std::vector{fused_elementwise(
      {constant(graph, inputs[0]), constant(graph, inputs[1]), constant(graph, inputs[2])},
      {.program = program, .casts = true})})[0];
  EXPECT_TRUE(identical(fast, Array::of({255.2490234375f, 1.0009765625f, 129.1259765625f})));
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
  EXPECT_THAT([&] { fused_elementwise({x}, {{call(functor::Add::op, 0, 2)}}); },
              ThrowsMessage<Error>(HasSubstr("fused_elementwise: add reads value 2 of 1")));
  EXPECT_THAT([&] { fused_elementwise({x}, {{call(sum_op, 0)}}); },
              ThrowsMessage<Error>(HasSubstr("an instruction is not elementwise")));
}

}  // namespace
}  // namespace belfry
