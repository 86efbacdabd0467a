#include <cmath>
#include <limits>

#include "belfry/framework/ops/defs.h"
#include "cpu_onednn_testing.h"

namespace belfry::cpu {
namespace {

using ::testing::ElementsAre;

struct Case {
  std::vector<std::int64_t> batch_a, batch_b;
  std::int64_t m, k, n;
};

const Case cases[] = {
    {{}, {}, 32, 784, 128},      // first layer of an MLP
    {{}, {}, 32, 128, 10},       // last
    {{}, {}, 1, 1, 1},           //
    {{}, {}, 7, 13, 5},          //
    {{}, {}, 3, 1000, 51},       //
    {{}, {}, 129, 65, 47},       //
    {{4}, {4}, 6, 8, 9},         // many products
    {{2, 3}, {2, 3}, 5, 4, 64},  //
    {{2, 1}, {1, 3}, 5, 4, 7},   // leading axes broadcast
    {{}, {3}, 5, 4, 7},          //
};

Shape operand(std::vector<std::int64_t> batch, std::int64_t rows, std::int64_t columns,
              bool transposed) {
  if (transposed) std::swap(rows, columns);
  batch.insert(batch.end(), {rows, columns});
  return Shape(batch);
}

void check(const Case& c, const MatmulNodeOptions& options, DType dtype = DType::f32) {
  auto [ta, tb] = options.product;
  std::vector<Array> arrays = {random_array(operand(c.batch_a, c.m, c.k, ta), 1),
                               random_array(operand(c.batch_b, c.k, c.n, tb), 2)};
  if (options.bias) arrays.push_back(random_array({c.n}, 3));
  for (Array& a : arrays) a = a.cast(dtype);
  Graph graph;
  Tensor y = apply1(matmul_op, inputs_like(graph, arrays), options);
  expect_onednn_matches_reference(y.node(), arrays);
}

TEST(CpuOnednnMatmul, AllTranspositions) {
  for (const Case& c : cases)
    for (bool ta : {false, true})
      for (bool tb : {false, true}) check(c, {.product = {ta, tb}});
}

TEST(CpuOnednnMatmul, BiasAndActivation) {
  for (const Case& c : cases)
    for (bool tb : {false, true})
      for (bool bias : {false, true})
        for (Activation activation : {Activation::none, Activation::relu})
          check(c, {{false, tb}, bias, activation});
}

TEST(CpuOnednnMatmul, BFloat16) {
  for (bool ta : {false, true})
    for (bool tb : {false, true})
      check({{}, {}, 32, 64, 48}, {{ta, tb}, true, Activation::relu}, DType::bf16);
}

TEST(CpuOnednnMatmul, KnownProduct) {
  std::vector<Array> arrays = {Array::of<float>({1, 2, 3, 4, 5, 6}, {2, 3}),
                               Array::of<float>({1, 0, -1, 2, 1, -3}, {3, 2}),
                               Array::of<float>({0.5f, 1})};
  Graph graph;
  Tensor y = apply1(matmul_op, inputs_like(graph, arrays),
                    MatmulNodeOptions{.bias = true, .activation = Activation::relu});
  Array result = run_onednn(y.node(), arrays, 1);
  EXPECT_THAT(result.span<float>(), ElementsAre(2.5f, 0, 5.5f, 0));
}

/// Wide enough for one of the two ways, narrow enough for the other.
TEST(CpuOnednnMatmul, ReluKeepsNan) {
  for (std::int64_t n : {4, 64}) {
    std::vector<Array> arrays = {random_array({2, 3}, 1), random_array({3, n}, 2)};
    arrays[0].span<float>()[0] = std::numeric_limits<float>::quiet_NaN();
    Graph graph;
    Tensor y = apply1(matmul_op, inputs_like(graph, arrays),
                      MatmulNodeOptions{.activation = Activation::relu});
    Array result = run_onednn(y.node(), arrays, 1);
    for (std::int64_t i = 0; i < n; ++i) EXPECT_TRUE(std::isnan(result.at(i))) << n << " " << i;
    for (std::int64_t i = n; i < 2 * n; ++i) EXPECT_GE(result.at(i), 0) << n << " " << i;
  }
}

TEST(CpuOnednnMatmul, LeavesTheRestToOthers) {
  auto has_kernel = [](const Shape& a, const Shape& b, DType dtype) {
    Graph graph;
    Tensor y = matmul(input(graph, "a", {a, dtype}), input(graph, "b", {b, dtype}));
    return find_kernel(y.node(), 1) != nullptr;
  };
  EXPECT_TRUE(has_kernel({2, 3}, {3, 4}, DType::f32));
  EXPECT_FALSE(has_kernel({0, 3}, {3, 4}, DType::f32));
  EXPECT_FALSE(has_kernel({2, 0}, {0, 4}, DType::f32));
  EXPECT_FALSE(has_kernel({2, 3}, {3, 4}, DType::f64));
  EXPECT_FALSE(has_kernel({2, 3}, {3, 4}, DType::i32));
}

}  // namespace
}  // namespace belfry::cpu
