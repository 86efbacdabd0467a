// Covers random.cu: rows of whole blocks of four numbers and others, and several blocks of threads.

#include "belfry/framework/ops/defs.h"
#include "on_gpu.h"

namespace belfry {
namespace {

const Shape shapes[] = {{}, {5}, {3, 7}, {6, 8}, {2, 3, 12}, {3, 1500}, {0, 4}};

constexpr DType floating[] = {DType::f64, DType::f32, DType::bf16, DType::f16};

TEST(CudaRandom, UniformNumbersAreThoseOfTheHostToTheLastBit) {
  for (DType dtype : floating)
    for (const Shape& shape : shapes) {
      Graph graph;
      Scope s(graph);
      EXPECT_EQ(difference_on_gpu({random_uniform(s, shape, 0, 1, dtype),
                                   random_uniform(s, shape, -0.3, 0.1, dtype),
                                   random_uniform(s, shape, 100, 101, dtype)}),
                0)
          << concat(dtype, shape);
    }
}

TEST(CudaRandom, NormalNumbersAreThoseOfTheHostButForRounding) {
  for (auto [dtype, allowed] : {std::pair(DType::f64, 1e-14), std::pair(DType::f32, 1e-7),
                                std::pair(DType::bf16, 0.004), std::pair(DType::f16, 0.0005)})
    for (const Shape& shape : shapes) {
      Graph graph;
      Scope s(graph);
      EXPECT_LE(difference_on_gpu({random_normal(s, shape, 1, 2, dtype),
                                   random_truncated_normal(s, shape, 0, 3, dtype)}),
                allowed)
          << concat(dtype, shape);
    }
}

TEST(CudaRandom, RowsAreCountedFromTheTowersFirst) {
  for (const Shape& shape : shapes) {
    Graph graph;
    Tensor state = input(graph, "state", {{3}, DType::i64});
    Tensor x = input(graph, "x", {shape, DType::f32});
    RandomOptions options{.type = x.type(), .stream = 11};
    EXPECT_EQ(difference_on_gpu(
                  {apply1(random_uniform_op, {state}, options),
                   apply1(dropout_op, {x, state}, DropoutMask{.rate = 0.5f, .stream = 12})},
                  {{"state", Array::of({std::int64_t{-7}, std::int64_t{1} << 40, 3000000000})},
                   {"x", numbers(shape, DType::f32)}}),
              0)
        << concat(shape);
  }
}

TEST(CudaRandom, DropoutKeepsWhatTheHostKeeps) {
  for (DType dtype : floating)
    for (const Shape& shape : shapes) {
      Graph graph;
      Scope s(graph);
      Tensor x = input(graph, "x", {shape, dtype});
      Array values = numbers(shape, dtype);
      EXPECT_EQ(difference_on_gpu({dropout(s, x, {.rate = 0.3f}), dropout(s, x, {.rate = 0.9f})},
                                  {{"x", values}}),
                0)
          << concat(dtype, shape);
    }
}

TEST(CudaRandom, WhatIsDroppedIsZeroWhateverItWas) {
  Graph graph;
  Scope s(graph);
  Tensor x = input(graph, "x", {{40}, DType::f32});
  Array values(x.shape(), DType::f32);
  for (float& v : values.span<float>()) v = HUGE_VALF;
  Array y = evaluate({dropout(s, x, {.rate = 0.5f})}, {{"x", values}}, {.device = "cuda"})[0];
  int zeros = 0;
  for (float v : y.span<float>()) {
    EXPECT_TRUE(v == 0 || v == HUGE_VALF) << v;
    zeros += v == 0;
  }
  EXPECT_GT(zeros, 5);
  EXPECT_LT(zeros, 35);
}

}  // namespace
}  // namespace belfry
