// Covers resize.cu: every type, channels in packs and one by one, larger and smaller images.

#include "belfry/framework/ops/nn.h"
#include "on_gpu.h"

namespace belfry {
namespace {

constexpr std::array<std::int64_t, 2> sizes[] = {{1, 1}, {3, 4}, {5, 7}, {10, 14}, {13, 29}};

TEST(CudaResize, Nearest) {
  for (DType dtype : {DType::f64, DType::f32, DType::bf16, DType::i64, DType::u8, DType::boolean})
    for (std::int64_t channels : {1, 3, 6, 16})
      for (auto size : sizes) {
        Graph graph;
        Tensor x = input(graph, "x", {{2, 5, 7, channels}, dtype});
        EXPECT_EQ(difference_on_gpu({resize_nearest(x, {.size = size}),
                                     resize_nearest(x, {.size = size, .align_corners = true})},
                                    {{"x", numbers(x.shape(), dtype, 0, 200)}}),
                  0)
            << concat(dtype, channels, size[0]);
      }
}

TEST(CudaResize, BilinearAndGradients) {
  for (auto [dtype, allowed] : {std::pair(DType::f64, 1e-14), std::pair(DType::f32, 1e-6),
                                std::pair(DType::bf16, 0.004), std::pair(DType::f16, 0.0005)})
    for (std::int64_t channels : {1, 3, 8})
      for (bool align : {false, true})
        for (auto size : sizes) {
          Graph graph;
          Tensor x = input(graph, "x", {{2, 5, 7, channels}, dtype});
          ResizeOptions o{.size = size, .align_corners = align};
          Tensor linear = resize_bilinear(x, o), nearest = resize_nearest(x, o);
          // The gradients are those of sums of squares, which differ from place to place.
          Tensor dx = gradients(sum(linear * linear), {{x}})[0];
          Tensor dx_nearest = gradients(sum(nearest * nearest), {{x}})[0];
          std::map<std::string, Array> inputs{{"x", numbers(x.shape(), dtype)}};
          EXPECT_LE(difference_on_gpu({linear}, inputs), allowed) << concat(dtype, size[0]);
          EXPECT_LE(difference_on_gpu({dx}, inputs), 2 * allowed) << concat(dtype, size[0]);
          EXPECT_LE(difference_on_gpu({dx_nearest}, inputs), 2 * allowed) << concat(dtype, size[0]);
        }
}

}  // namespace
}  // namespace belfry
