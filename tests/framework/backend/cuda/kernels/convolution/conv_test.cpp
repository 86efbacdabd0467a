// Covers conv.cu, conv_grad_input.cu, conv_grad_kernel.cu and convolution.h.

#include "../on_gpu.h"
#include "belfry/framework/ops/convolution/conv_geometry.h"
#include "belfry/framework/ops/defs_nn.h"

namespace belfry {
namespace {

struct Case {
  Shape x, kernel;
  ConvWindow window = {};
};

// Wide enough for tiles, and not; sums long enough to be cut; what padding, strides, dilation and
// groups leave over.
const std::vector<Case>& cases() {
  static const std::vector<Case> list = {
      {{2, 9, 11, 17}, {3, 3, 17, 70}},
      {{2, 9, 11, 17}, {3, 2, 17, 9}, Conv2dOptions{.stride = {2, 3}}},
      {{1, 12, 10, 16}, {3, 3, 16, 8}, Conv2dOptions{.dilation = {2, 3}, .padding = valid_padding}},
      {{1, 7, 9, 32}, {3, 3, 16, 24}, Conv2dOptions{.stride = {2, 1}, .groups = 2}},
      {{1, 7, 9, 6}, {3, 3, 1, 12}, Conv2dOptions{.stride = {1, 2}, .groups = 6}},
      {{1, 4, 5, 3}, {5, 5, 3, 4}, Conv2dOptions{.padding = Padding::explicit_amounts(1, 3, 4, 0)}},
      {{3, 21, 23, 8},
       {1, 1, 8, 10},
       Conv2dOptions{.padding = Padding::explicit_amounts(0, 5, 2, 0)}},
      {{1, 6, 6, 40}, {4, 4, 40, 12}},
      {{2, 4, 6, 7, 17}, {3, 2, 3, 17, 70}, Conv3dOptions{}},
      {{1, 5, 7, 6, 9}, {3, 2, 3, 9, 10}, Conv3dOptions{.stride = {2, 1, 3}}},
      {{1, 7, 5, 6, 16},
       {3, 3, 2, 8, 24},
       Conv3dOptions{.dilation = {3, 1, 2}, .groups = 2, .padding = valid_padding}},
      {{1, 3, 4, 5, 3},
       {4, 2, 3, 3, 4},
       Conv3dOptions{.padding = Padding::explicit_amounts(3, 1, 0, 2, 1, 0)}},
  };
  return list;
}

// The three directions of one convolution.
double difference(const Case& c, DType dtype) {
  Graph graph;
  Tensor x = input(graph, "x", {c.x, dtype}), kernel = input(graph, "kernel", {c.kernel, dtype});
  ConvGeometry g = conv_geometry("test", c.x, c.kernel, c.window);
  Tensor dy = input(graph, "dy", {g.output(), dtype}),
         bias = input(graph, "bias", {{g.out_channels}, dtype});
  ConvOptions plain{.window = c.window},
      fused{.window = c.window, .bias = true, .activation = Activation::relu};
  ConvGradInputOptions of_input{c.window, {c.x.begin() + 1, c.x.end() - 1}};
  ConvGradKernelOptions of_kernel{c.window, {c.kernel.begin(), c.kernel.end() - 2}};
  const OpDef& op = g.volume ? conv3d_op : conv2d_op;
  return difference_on_gpu(
      {apply1(op, {x, kernel}, plain), apply1(op, {x, kernel, bias}, fused),
       (g.volume ? conv3d_grad_input : conv2d_grad_input)(dy, kernel, of_input),
       (g.volume ? conv3d_grad_kernel : conv2d_grad_kernel)(x, dy, of_kernel)},
      {{"x", numbers(c.x, dtype)},
       {"kernel", numbers(c.kernel, dtype)},
       {"dy", numbers(g.output(), dtype)},
       {"bias", numbers(bias.shape(), dtype, -9, 9)}});
}

// A gradient of the input that is added to another one, in whose place it lies.
double difference_of_sum(const Case& c, DType dtype) {
  Graph graph;
  ConvGeometry g = conv_geometry("test", c.x, c.kernel, c.window);
  Tensor dy = input(graph, "dy", {g.output(), dtype}),
         kernel = input(graph, "kernel", {c.kernel, dtype}),
         other = input(graph, "other", {c.x, dtype});
  return difference_on_gpu(
      {apply1(g.volume ? conv3d_grad_input_op : conv2d_grad_input_op, {dy, kernel, relu(other)},
              ConvGradInputOptions{c.window, {c.x.begin() + 1, c.x.end() - 1}})},
      {{"dy", numbers(g.output(), dtype)},
       {"kernel", numbers(c.kernel, dtype)},
       {"other", numbers(c.x, dtype)}});
}

TEST(CudaConv, EveryDirectionAndWindow) {
  for (const Case& c : cases()) EXPECT_LT(difference(c, DType::f32), 4e-6) << to_string(c.kernel);
}

TEST(CudaConv, EveryType) {
  for (auto [dtype, allowed] :
       {std::pair(DType::f64, 1e-14), std::pair(DType::bf16, 0.004), std::pair(DType::f16, 0.0005)})
    for (std::size_t i : {1, 4, 9}) EXPECT_LT(difference(cases()[i], dtype), allowed) << i;
}

// As in x + conv2d(x): the gradient of the sum is both operands, and stays whole while it is read.
TEST(CudaConv, AGradientMayBeAddedToTheOneItIsMadeOf) {
  Graph graph;
  Shape image{2, 9, 11, 16};
  Tensor dy = relu(input(graph, "dy", {image, DType::f32})),
         kernel = input(graph, "kernel", {{3, 3, 16, 16}, DType::f32});
  Tensor sum = apply1(conv2d_grad_input_op, {dy, kernel, dy},
                      ConvGradInputOptions{Conv2dOptions{}, {9, 11}});
  EXPECT_LT(difference_on_gpu({sum}, {{"dy", numbers(image, DType::f32)},
                                      {"kernel", numbers({3, 3, 16, 16}, DType::f32)}}),
            4e-6);
}

// cuDNN rounds the gradient to 16 bits, and the sum once more.
TEST(CudaConv, GradientsOfInputsAddToOthers) {
  for (auto [dtype, allowed] : {std::pair(DType::f64, 1e-14), std::pair(DType::f32, 4e-6),
                                std::pair(DType::bf16, 0.008), std::pair(DType::f16, 0.001)})
    for (const Case& c : cases())
      EXPECT_LT(difference_of_sum(c, dtype), allowed) << to_string(c.kernel) << to_string(dtype);
}

}  // namespace
}  // namespace belfry
