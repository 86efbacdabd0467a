#include "pools.h"

namespace belfry {
namespace {

TEST(CudaAvgPool, EveryTypeAndWindow) {
  for (DType dtype : floating_types)
    for (const PoolCase& c : pool_cases) {
      Graph graph;
      Tensor x = input(graph, "x", {c.x, dtype});
      Tensor y = avg_pool(x, c.options);
      Tensor dy = input(graph, "dy", y.type());
      Tensor dx = gradients(y, std::vector<Tensor>{x}, dy)[0];
      EXPECT_LE(difference_on_gpu({y, dx}, {{"x", numbers(c.x, dtype)},
                                            {"dy", numbers(y.shape(), dtype, .5, 2)}}),
                allowed(dtype, 8))
          << to_string(TensorType{c.x, dtype});
    }
}

TEST(CudaAvgPool, HasNoneWhosePlacesNeedMoreThan32Bits) {
  for (const PoolCase& c : huge_pools) {
    Graph graph;
    Tensor x = input(graph, "x", {c.x, DType::f32});
    Tensor y = avg_pool(x, c.options);
    Tensor dx = gradients(y, std::vector<Tensor>{x}, input(graph, "dy", y.type()))[0];
    EXPECT_FALSE(has_kernel_on_gpu(y.node())) << to_string(y.type());
    EXPECT_FALSE(has_kernel_on_gpu(dx.node())) << to_string(y.type());
  }
}

}  // namespace
}  // namespace belfry
