#include "belfry/framework/ops/defs.h"
#include "belfry/framework/ops/math.h"
#include "cpu_simd_testing.h"

namespace belfry::cpu {
namespace {

using Reduce = Tensor (*)(Tensor, ReduceOptions);

/// The three reductions that have fast kernels.
const std::vector<Reduce> reductions{sum, max, min};

struct Case {
  Shape shape;
  std::vector<int> axes;
};

TEST(SimdReduce, LeadingTrailingMiddleAndAllAxes) {
  std::vector<Case> cases{{{128, 10}, {0}},   {{5, 6, 7, 64}, {0, 1, 2}}, {{1000, 257}, {0}},
                          {{7}, {}},          {{3, 4099}, {1}},           {{2, 3, 5}, {}},
                          {{100'003}, {}},    {{4, 49, 33}, {1}},         {{4, 7, 7, 512}, {1, 2}},
                          {{40'000, 3}, {1}}, {{1, 5, 1}, {0, 2}},        {{6, 1}, {1}}};
  for (const Case& c : cases)
    for (Reduce reduce : reductions) {
      Array x = random_array(c.shape, 1);
      Graph graph;
      Tensor y = reduce(inputs_like(graph, {x})[0], {.axes = c.axes});
      expect_simd_matches_reference(y.node(), {x}, 4);
    }
}

TEST(SimdReduce, NothingToReduceAndNothingLeft) {
  for (Case c : {Case{{0, 3}, {0}}, Case{{3, 0}, {1}}, Case{{0, 3}, {1}}, Case{{0}, {}}})
    for (Reduce reduce : reductions) {
      Array x(c.shape, DType::f32);
      Graph graph;
      Tensor y = reduce(inputs_like(graph, {x})[0], {.axes = c.axes});
      expect_simd_matches_reference(y.node(), {x});
    }
}

TEST(SimdReduce, NanWins) {
  Array x = random_array({70, 70}, 1);
  x.span<float>()[71] = std::nanf("");
  for (Reduce reduce : reductions)
    for (std::vector<int> axes : {std::vector<int>{0}, {1}, {}}) {
      Graph graph;
      Tensor y = reduce(inputs_like(graph, {x})[0], {.axes = axes});
      expect_simd_matches_reference(y.node(), {x});
    }
}

TEST(SimdReduce, SumsLoseNoDigitsToTheirLength) {
  // 1e7 times 0.1: adding one by one in float would give 1087937.
  Array x({10'000'000}, DType::f32);
  for (float& v : x.span<float>()) v = 0.1f;
  Graph graph;
  Tensor y = sum(inputs_like(graph, {x})[0]);
  for (const SimdLoops* loops : simd_choices()) {
    UsingSimd using_simd(*loops);
    double total = run_kernel(*find_kernel(y.node(), 1), y.node(), {x})[0].item();
    EXPECT_NEAR(total, 1e6, 1e6 * 18 * 0x1p-24);  // 18 roundings in float, the rest in double
  }
}

TEST(SimdReduce, AxesThatLieApartHaveNoFastKernel) {
  Graph graph;
  Tensor x = input(graph, "x", {{4, 5, 6}, DType::f32});
  EXPECT_EQ(find_kernel(sum(x, {.axes = {0, 2}}).node(), 1), nullptr);
}

}  // namespace
}  // namespace belfry::cpu
