#include "belfry/framework/backend/cuda/fused_source.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <bit>
#include <limits>

#include "belfry/framework/graph/leaves.h"
#include "belfry/framework/ops/defs.h"
#include "belfry/framework/ops/elementwise/functors.h"
#include "belfry/framework/ops/elementwise/fused_elementwise.h"

namespace belfry::cuda {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

FusedInstruction call(const OpDef& op, int a, int b = -1, int c = -1) { return {&op, {a, b, c}}; }

std::optional<FusedSource> source_of(std::vector<Tensor> inputs,
                                     std::vector<FusedInstruction> program) {
  return fused_source(fused_elementwise(std::move(inputs), {std::move(program)}).node());
}
std::string text_of(std::vector<Tensor> inputs, std::vector<FusedInstruction> program) {
  return source_of(std::move(inputs), std::move(program)).value().text;
}

struct CudaFusedSource : ::testing::Test {
  Tensor make(const Shape& shape, DType dtype = DType::f32) {
    return input(graph, concat("x", graph.size()), {shape, dtype});
  }
  Graph graph;
};

TEST_F(CudaFusedSource, IsStraightLineCode) {
  Tensor x = make({6, 32}, DType::bf16), row = make({32}, DType::bf16);
  Tensor half = constant(graph, 0.5, DType::bf16), limit = make({6, 1}, DType::bf16);
  Tensor other = make({}, DType::bf16);
  auto source = source_of({x, row, half, limit, other},
                          {call(functor::Mul::op, 0, 1), call(functor::Add::op, 5, 2),
                           call(functor::ReluGrad::op, 6, 4), call(functor::LessEqual::op, 7, 3),
                           call(functor::Where::op, 8, 7, 0)})
                    .value();
  EXPECT_EQ(source.text,
            R"(#include "belfry/framework/backend/cuda/kernels/elementwise/fused_chain.h"

namespace belfry::cuda {

struct Chain {
  using Out = BFloat16;
  static constexpr int each = 8;
  static constexpr bool strided = true;
  __device__ static auto apply(float v0, float v1, float v3, float v4) {
    const float v2 = __builtin_bit_cast(float, 0x3f000000u);
    const auto v5 = functor::Mul::apply<StdMath>(v0, v1);
    const auto v6 = functor::Add::apply<StdMath>(v5, v2);
    const auto v7 = functor::ReluGrad::apply<StdMath>(v6, v4);
    const auto v8 = functor::LessEqual::apply<StdMath>(v7, v3);
    const auto v9 = functor::Where::apply<StdMath>(v8, v7, v0);
    return v9;
  }
};

extern "C" __global__ void fused_chain(FusedArguments a) {
  run_chain<Chain, Operand<0, BFloat16, Reach::whole>, Operand<1, BFloat16, Reach::row>, Operand<3, BFloat16, Reach::repeated>, Operand<4, BFloat16, Reach::single>>(a);
}

}  // namespace belfry::cuda
)");
  EXPECT_EQ(source.arguments.count, 192);
  EXPECT_EQ(source.shape.blocks, 1);
  const auto& layout = source.arguments.layout;
  EXPECT_EQ(layout.rank, 2);
  EXPECT_EQ(layout.sizes[0], 6);
  EXPECT_EQ(layout.sizes[1], 32);
  EXPECT_EQ(layout.strides[1][1], 1);
  EXPECT_EQ(layout.strides[3][0], 1);
  EXPECT_EQ(layout.strides[0][0], 0);  // walks by its number
}

TEST_F(CudaFusedSource, SizesAreNoPartOfIt) {
  auto text = [&](std::int64_t rows, std::int64_t columns) {
    return text_of({make({rows, columns}), make({columns})},
                   {call(functor::Add::op, 0, 1), call(functor::Exp::op, 2)});
  };
  EXPECT_EQ(text(6, 32), text(100, 8));
  EXPECT_EQ(text(6, 33), text(100, 7));
  EXPECT_THAT(text(6, 32), HasSubstr("each = 4;"));
  // Its rows are no whole number of packs.
  EXPECT_THAT(text(6, 33), HasSubstr("each = 1;"));
}

TEST_F(CudaFusedSource, PacksHold16BytesOfTheWidestType) {
  auto text = [&](DType dtype) { return text_of({make({5}, dtype)}, {call(functor::Abs::op, 0)}); };
  EXPECT_THAT(text(DType::f64), HasSubstr("using Out = double;\n  static constexpr int each = 2;\n"
                                          "  static constexpr bool strided = false;"));
  EXPECT_THAT(text(DType::f32), HasSubstr("using Out = float;\n  static constexpr int each = 4;"));
  EXPECT_THAT(text(DType::f16),
              HasSubstr("using Out = Float16;\n  static constexpr int each = 8;"));
  EXPECT_THAT(text(DType::i64), HasSubstr("apply(std::int64_t v0)"));
  EXPECT_THAT(text(DType::i32), HasSubstr("Operand<0, std::int32_t, Reach::whole>"));
  EXPECT_THAT(text(DType::u8),
              HasSubstr("using Out = std::uint8_t;\n  static constexpr int each = 8;"));
  std::string compares = text_of({make({5}), make({5})}, {call(functor::Less::op, 0, 1)});
  EXPECT_THAT(compares, HasSubstr("using Out = bool;\n  static constexpr int each = 4;"));
  std::string selects = text_of({make({5}, DType::boolean), make({5}, DType::f16)},
                                {call(functor::Where::op, 0, 1, 1)});
  EXPECT_THAT(selects, HasSubstr("apply(bool v0, float v1)"));
  EXPECT_THAT(selects, HasSubstr("<Chain, Operand<0, bool, Reach::whole>, Operand<1, Float16, "));
}

TEST_F(CudaFusedSource, NumbersAreExact) {
  auto expect_number = [&](Array value, const std::string& line) {
    std::string text = text_of({make({5}, value.dtype()), constant(graph, value)},
                               {call(functor::Equal::op, 0, 1)});
    EXPECT_THAT(text, HasSubstr("    const " + line + ";\n"));
    EXPECT_THAT(text, Not(HasSubstr("Operand<1")));
  };
  expect_number(Array::scalar(std::bit_cast<float>(0xffc12345u)),  // a NaN
                "float v1 = __builtin_bit_cast(float, 0xffc12345u)");
  expect_number(Array::scalar(-std::numeric_limits<float>::infinity()),
                "float v1 = __builtin_bit_cast(float, 0xff800000u)");
  expect_number(Array::scalar(-0.0f), "float v1 = __builtin_bit_cast(float, 0x80000000u)");
  expect_number(Array::scalar(0x1p-149f), "float v1 = __builtin_bit_cast(float, 0x00000001u)");
  expect_number(Array::scalar(1.0),
                "double v1 = __builtin_bit_cast(double, 0x3ff0000000000000ull)");
  // 1 + 2^-10, which f16 holds; computed as float
  expect_number(Array::scalar(1.0009765625).cast(DType::f16),
                "float v1 = __builtin_bit_cast(float, 0x3f802000u)");
  expect_number(Array::scalar(std::numeric_limits<std::int64_t>::min()),
                "std::int64_t v1 = std::int64_t(0x8000000000000000ull)");
  expect_number(Array::scalar(std::int32_t{-1}), "std::int32_t v1 = std::int32_t(0xffffffffull)");
  expect_number(Array::scalar(std::uint8_t{200}), "std::uint8_t v1 = std::uint8_t(0xc8ull)");
  expect_number(Array::scalar(true), "bool v1 = true");
}

TEST_F(CudaFusedSource, ConstantsOfSeveralElementsAreRead) {
  Tensor row = constant(graph, Array::of({1.0f, 2.0f}));
  EXPECT_THAT(text_of({make({3, 2}), row}, {call(functor::Add::op, 0, 1)}),
              HasSubstr("Operand<1, float, "));
}

TEST_F(CudaFusedSource, ThereIsNoneForEveryNode) {
  EXPECT_TRUE(source_of({make({4}), make({4})}, {call(functor::Div::op, 0, 1)}));
  EXPECT_FALSE(
      source_of({make({4}, DType::i32), make({4}, DType::i32)}, {call(functor::Div::op, 0, 1)}));
  EXPECT_FALSE(source_of({make({0})}, {call(functor::Exp::op, 0)}));
  std::vector<Tensor> inputs;
  std::vector<FusedInstruction> sum{call(functor::Add::op, 0, 1)};
  for (int n = 0; n < most_fused_inputs; ++n) inputs.push_back(make({4}));
  EXPECT_TRUE(source_of(inputs, sum));
  inputs.push_back(make({4}));
  EXPECT_FALSE(source_of(inputs, sum));
}

TEST_F(CudaFusedSource, TakesTheAddressesOfARun) {
  auto source = source_of({make({4}), make({4})}, {call(functor::Add::op, 0, 1)}).value();
  int x = 0, y = 0, out = 0;
  void *in[] = {&x, &y}, *result = &out;
  FusedArguments arguments = source.at({in, {&result, 1}, nullptr});
  EXPECT_EQ(arguments.in[0], &x);
  EXPECT_EQ(arguments.in[1], &y);
  EXPECT_EQ(arguments.out, &out);
  EXPECT_EQ(arguments.count, 4);
}

}  // namespace
}  // namespace belfry::cuda
