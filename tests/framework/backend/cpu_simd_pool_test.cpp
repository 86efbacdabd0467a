#include "belfry/framework/ops/defs_nn.h"
#include "cpu_simd_testing.h"

namespace belfry::cpu {
namespace {

struct Case {
  Shape x;
  Pool2dOptions options;
};

const std::vector<Case> cases{
    {{2, 8, 8, 32}, {}},
    {{1, 7, 5, 3}, {}},
    {{3, 9, 9, 17}, {.window = {3, 3}, .stride = {2, 2}, .padding = same_padding}},
    {{2, 6, 7, 16}, {.window = {3, 2}, .stride = {1, 1}, .padding = same_padding}},
    {{2, 12, 12, 5}, {.window = {2, 2}, .stride = {3, 3}}},
    {{1, 9, 8, 4}, {.window = {5, 4}, .stride = {1, 2}, .padding = same_padding}},
    {{2, 20, 20, 64},
     {.window = {7, 7}, .stride = {7, 7}, .padding = Padding::explicit_amounts(1, 0, 0, 2)}},
    {{0, 8, 8, 4}, {}},
};

TEST(SimdPool, ForwardMatchesReference) {
  for (const Case& c : cases) {
    Array x = random_array(c.x, 1);
    Graph graph;
    Tensor in = inputs_like(graph, {x})[0];
    expect_simd_matches_reference(max_pool(in, c.options).node(), {x});
    expect_simd_matches_reference(avg_pool(in, c.options).node(), {x});
  }
}

TEST(SimdPool, BackwardMatchesReference) {
  for (const Case& c : cases) {
    Array x = random_array(c.x, 1);
    Graph graph;
    Tensor in = inputs_like(graph, {x})[0];
    const Node& pool = max_pool(in, c.options).node();
    Array index = run_kernel(*make_reference_kernel(pool), pool, {x})[1];
    std::vector<Array> inputs{random_array(pool.output().shape, 2), index};
    auto tensors = inputs_like(graph, inputs);
    PoolGradOptions options{c.options, {c.x[1], c.x[2]}};
    expect_simd_matches_reference(max_pool_grad(tensors[0], tensors[1], options).node(), inputs);
    expect_simd_matches_reference(avg_pool_grad(tensors[0], options).node(), {inputs[0]});
  }
}

TEST(SimdPool, FirstOfEqualsAndFirstNanWin) {
  float nan = std::nanf("");
  // Windows of four: equal maxima; NaN after the maximum; two NaN; minus infinities.
  float inf = std::numeric_limits<float>::infinity();
  Array x = Array::of({1.0f, 5.0f, 2.0f, 9.0f,  //
                       nan, 4.0f, -inf, -inf,   //
                       5.0f, 5.0f, nan, 3.0f,   //
                       1.0f, nan, -inf, -inf},
                      {1, 2, 8, 1});
  for (Size2 window : {Size2(2, 2), Size2(2, 4), Size2(2, 8)}) {
    Graph graph;
    Tensor y = max_pool(inputs_like(graph, {x})[0], {.window = window, .stride = window});
    expect_simd_matches_reference(y.node(), {x});
  }
}

TEST(SimdPool, WindowsAbove256ElementsHaveNoFastKernel) {
  Graph graph;
  Tensor x = input(graph, "x", {{1, 20, 20, 4}, DType::f32});
  EXPECT_EQ(find_kernel(max_pool(x, {.window = {17, 17}}).node(), 1), nullptr);
}

TEST(SimdPool, ImagesWithoutChannelsHaveNoFastKernel) {
  Graph graph;
  Tensor x = input(graph, "x", {{2, 4, 4, 0}, DType::f32});
  Tensor dy = input(graph, "dy", {{2, 2, 2, 0}, DType::f32});
  EXPECT_EQ(find_kernel(max_pool(x).node(), 1), nullptr);
  EXPECT_EQ(find_kernel(avg_pool(x).node(), 1), nullptr);
  EXPECT_EQ(find_kernel(avg_pool_grad(dy, {{}, {4, 4}}).node(), 1), nullptr);
}

}  // namespace
}  // namespace belfry::cpu
