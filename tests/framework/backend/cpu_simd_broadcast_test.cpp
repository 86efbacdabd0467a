#include "belfry/framework/ops/math.h"
#include "belfry/framework/ops/movement/shape_ops.h"
#include "cpu_simd_testing.h"

namespace belfry::cpu {
namespace {

TEST(SimdBroadcast, MatchesReference) {
  std::vector<std::pair<Shape, Shape>> pairs{{{}, {5000}},
                                             {{1, 64}, {300, 64}},
                                             {{300, 1}, {300, 7}},
                                             {{8, 1, 1, 64}, {8, 9, 9, 64}},
                                             {{3}, {2, 3}},
                                             {{20'000}, {3, 20'000}},
                                             {{5, 6}, {5, 6}},
                                             {{1, 3}, {0, 3}},
                                             {{2, 1, 3, 1}, {2, 4, 3, 5}}};
  for (const auto& [from, to] : pairs) {
    Array x = random_array(from, 1);
    Graph graph;
    Tensor y = broadcast_to(inputs_like(graph, {x})[0], to);
    if (from == to) continue;  // no op at all
    expect_simd_matches_reference(y.node(), {x}, 0);
  }
}

}  // namespace
}  // namespace belfry::cpu
