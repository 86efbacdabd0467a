#include "belfry/framework/graph/scope.h"
#include "belfry/framework/ops/random/random.h"
#include "cpu_simd_testing.h"

namespace belfry::cpu {
namespace {

TEST(SimdDropout, DrawsTheMaskOfTheReference) {
  for (const Shape& shape : {Shape{}, {1}, {5, 3}, {64, 1024}, {3, 7, 7, 5}, {1, 20'001}, {0, 4}})
    for (float rate : {0.1f, 0.5f, 0.9f}) {
      Graph graph;
      Scope scope(graph);
      Tensor x = input(graph, "x", {shape, DType::f32});
      const Node& node = dropout(scope / "drop", x, {.rate = rate}).node();
      // Seed, step and first global row, each beyond 32 bits or at odds with 0.
      Array state = Array::of<std::int64_t>({0x123456789abcdef, 0x500000007, 11}, {3});
      expect_simd_matches_reference(node, {random_array(shape, 1, 1, 2), state}, 0);
    }
}

}  // namespace
}  // namespace belfry::cpu
