#include "pools.h"

namespace belfry {
namespace {

// Few different numbers, so that the first of equals matters.
TEST(CudaMaxPool, EveryTypeAndWindow) {
  for (DType dtype : floating_types)
    for (const PoolCase& c : pool_cases) {
      Graph graph;
      Tensor x = input(graph, "x", {c.x, dtype});
      Tensor y = max_pool(x, c.options);
      Tensor dy = input(graph, "dy", y.type()), ddx = input(graph, "ddx", x.type());
      Tensor dx = gradients(y, std::vector<Tensor>{x}, dy)[0];
      Tensor ddy = gradients(dx, std::vector<Tensor>{dy}, ddx)[0];
      EXPECT_LE(difference_on_gpu({y, Tensor(y.node(), 1), dx, ddy},
                                  {{"x", numbers(c.x, DType::i32, 0, 5).cast(dtype)},
                                   {"dy", numbers(y.shape(), dtype)},
                                   {"ddx", numbers(c.x, dtype)}}),
                allowed(dtype, 2))
          << to_string(TensorType{c.x, dtype});
    }
}

TEST(CudaMaxPool, NanWinsAndInfinityIsANumber) {
  for (float value : {std::nanf(""), -HUGE_VALF})
    for (std::int64_t channels : {3, 8}) {
      Graph graph;
      Tensor x = input(graph, "x", {Shape{1, 6, 6, channels}, DType::f32});
      Tensor y = max_pool(x, {.window = {3, 3}, .padding = same_padding});
      Array elements = numbers(x.shape(), DType::f32);
      for (std::size_t i = 0; i < 50; i += 3) elements.span<float>()[i] = value;
      EXPECT_EQ(difference_on_gpu({y, Tensor(y.node(), 1)}, {{"x", elements}}), 0);
    }
}

TEST(CudaMaxPool, HasNoneWhosePlacesNeedMoreThan32Bits) {
  for (const PoolCase& c : huge_pools) {
    Graph graph;
    Tensor x = input(graph, "x", {c.x, DType::f32});
    Tensor y = max_pool(x, c.options);
    Tensor dy = input(graph, "dy", y.type()), ddx = input(graph, "ddx", x.type());
    Tensor dx = gradients(y, std::vector<Tensor>{x}, dy)[0];
    Tensor ddy = gradients(dx, std::vector<Tensor>{dy}, ddx)[0];
    for (const Tensor& t : {y, dx, ddy})
      EXPECT_FALSE(has_kernel_on_gpu(t.node())) << to_string(y.type());
  }
}

}  // namespace
}  // namespace belfry
