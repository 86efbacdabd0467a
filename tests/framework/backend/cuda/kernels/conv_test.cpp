// Covers conv2d.cu, conv2d_grad_input.cu, conv2d_grad_kernel.cu and convolution.h.

#include "belfry/framework/ops/conv_geometry.h"
#include "belfry/framework/ops/defs_nn.h"
#include "on_gpu.h"

namespace belfry {
namespace {

struct Case {
  Shape x, kernel;
  Conv2dOptions window = {};
};

// Wide enough for tiles, and not; sums long enough to be cut; what padding, strides, dilation and
// groups leave over.
const std::vector<Case>& cases() {
  static const std::vector<Case> list = {
      {{2, 9, 11, 17}, {3, 3, 17, 70}},
      {{2, 9, 11, 17}, {3, 2, 17, 9}, {.stride = {2, 3}}},
      {{1, 12, 10, 16}, {3, 3, 16, 8}, {.dilation = {2, 3}, .padding = valid_padding}},
      {{1, 7, 9, 32}, {3, 3, 16, 24}, {.stride = {2, 1}, .groups = 2}},
      {{1, 7, 9, 6}, {3, 3, 1, 12}, {.stride = {1, 2}, .groups = 6}},
      {{1, 4, 5, 3}, {5, 5, 3, 4}, {.padding = Padding::explicit_amounts(1, 3, 4, 0)}},
      {{3, 21, 23, 8}, {1, 1, 8, 10}, {.padding = Padding::explicit_amounts(0, 5, 2, 0)}},
      {{1, 6, 6, 40}, {4, 4, 40, 12}},
  };
  return list;
}

// The three directions of one convolution.
double difference(const Case& c, DType dtype) {
  Graph graph;
  Tensor x = input(graph, "x", {c.x, dtype}), kernel = input(graph, "kernel", {c.kernel, dtype});
  ConvGeometry g = conv_geometry("conv2d", c.x, c.kernel, c.window);
  Tensor dy = input(graph, "dy", {g.output(), dtype}),
         bias = input(graph, "bias", {{g.out_channels}, dtype});
  ConvOptions fused{.window = c.window, .bias = true, .activation = Activation::relu};
  return difference_on_gpu(
      {conv2d(x, kernel, c.window), apply1(conv2d_op, {x, kernel, bias}, fused),
       conv2d_grad_input(dy, kernel, {c.window, {x.size(1), x.size(2)}}),
       conv2d_grad_kernel(x, dy, {c.window, {kernel.size(0), kernel.size(1)}})},
      {{"x", numbers(c.x, dtype)},
       {"kernel", numbers(c.kernel, dtype)},
       {"dy", numbers(g.output(), dtype)},
       {"bias", numbers(bias.shape(), dtype, -9, 9)}});
}

TEST(CudaConv2d, EveryDirectionAndWindow) {
  for (const Case& c : cases()) EXPECT_LT(difference(c, DType::f32), 4e-6) << to_string(c.kernel);
}

TEST(CudaConv2d, EveryType) {
  for (auto [dtype, allowed] :
       {std::pair(DType::f64, 1e-14), std::pair(DType::bf16, 0.004), std::pair(DType::f16, 0.0005)})
    for (std::size_t i : {1, 4}) EXPECT_LT(difference(cases()[i], dtype), allowed) << i;
}

}  // namespace
}  // namespace belfry
