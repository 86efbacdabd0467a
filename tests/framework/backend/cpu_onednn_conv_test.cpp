#include <cmath>
#include <limits>

#include "cpu_conv_testing.h"

namespace belfry::cpu {
namespace {

using ::testing::ElementsAre;

using Case = ConvCase;

const Case cases[] = {
    {{8, 28, 28, 1}, {5, 5, 1, 32}},                                      // first layer of LeNet
    {{4, 14, 14, 32}, {5, 5, 32, 64}},                                    // second
    {{2, 16, 16, 64}, {3, 3, 64, 64}},                                    // ResNet
    {{2, 16, 16, 64}, {3, 3, 64, 128}, Conv2dOptions{.stride = {2, 2}}},  // its step down
    {{2, 16, 16, 64}, {1, 1, 64, 128}, Conv2dOptions{.stride = {2, 2}}},  // and the shortcut
    {{4, 4, 4, 128}, {3, 3, 128, 128}},                                   // tiny images
    {{2, 16, 16, 3}, {4, 4, 3, 64}, Conv2dOptions{.stride = {2, 2}}},     // DCGAN's discriminator
    {{1, 5, 7, 3}, {2, 3, 3, 5}},  // nothing divides by anything
    {{3, 9, 6, 5}, {3, 2, 5, 7}, Conv2dOptions{.stride = {2, 3}, .padding = valid_padding}},
    {{2, 11, 12, 17}, {3, 3, 17, 19}, Conv2dOptions{.dilation = {2, 3}}},
    {{2, 6, 5, 4}, {3, 3, 4, 6}, Conv2dOptions{.padding = Padding::explicit_amounts(2, 0, 1, 3)}},
    {{2, 5, 5, 2}, {2, 2, 2, 3}, Conv2dOptions{.padding = Padding::explicit_amounts(4, 3, 5, 4)}},
    {{2, 8, 8, 8}, {1, 1, 8, 8}, Conv2dOptions{.stride = {3, 3}, .padding = valid_padding}},
    {{1, 28, 28, 3}, {1, 1, 3, 16}, Conv2dOptions{.stride = {2, 2}}},
    {{1, 6, 6, 2}, {1, 1, 2, 3}, Conv2dOptions{.stride = {2, 2}}},
    {{2, 10, 10, 32}, {3, 3, 1, 32}, Conv2dOptions{.groups = 32}},  // depthwise
    {{2, 10, 10, 6}, {3, 3, 1, 12}, Conv2dOptions{.stride = {2, 2}, .groups = 6}},
    {{2, 8, 8, 32}, {3, 3, 8, 64}, Conv2dOptions{.groups = 4}},
    {{1, 1, 1, 1}, {1, 1, 1, 1}},
    {{4, 32, 31, 16}, {1, 1, 16, 24}},  // many pixels beside channels
    // Kernel gradients from patches: in two blocks, and with windows that reach outside.
    {{1, 64, 64, 128}, {3, 3, 128, 64}, Conv2dOptions{.stride = {2, 2}}},
    {{2, 9, 14, 17},
     {4, 5, 17, 65},
     Conv2dOptions{
         .stride = {2, 3}, .dilation = {2, 1}, .padding = Padding::explicit_amounts(4, 1, 0, 3)}},
    // Volumes.
    {{2, 4, 14, 14, 32}, {3, 3, 3, 32, 64}, Conv3dOptions{}},                   // C3D
    {{1, 4, 16, 16, 3}, {3, 7, 7, 3, 64}, Conv3dOptions{.stride = {1, 2, 2}}},  // its first layer
    {{2, 4, 6, 6, 64}, {1, 1, 1, 64, 128}, Conv3dOptions{.stride = {2, 2, 2}}},
    {{1, 3, 5, 7, 3}, {2, 2, 3, 3, 5}, Conv3dOptions{.stride = {2, 3, 1}}},
    {{2, 7, 5, 6, 17},
     {3, 2, 3, 17, 19},
     Conv3dOptions{.dilation = {3, 2, 1}, .padding = valid_padding}},
    {{2, 4, 3, 5, 4},
     {3, 3, 3, 4, 6},
     Conv3dOptions{.padding = Padding::explicit_amounts(2, 0, 1, 3, 0, 1)}},
    {{1, 3, 4, 4, 1}, {2, 3, 3, 1, 8}, Conv3dOptions{}},
    {{2, 5, 7, 8, 16}, {3, 3, 2, 16, 64}, Conv3dOptions{.stride = {2, 1, 2}}},  // from patches
    {{2, 4, 6, 6, 8}, {3, 3, 3, 1, 8}, Conv3dOptions{.groups = 8}},             // depthwise
    {{1, 3, 5, 5, 16}, {3, 3, 3, 4, 32}, Conv3dOptions{.stride = {2, 1, 2}, .groups = 4}},
    {{1, 1, 1, 1, 1}, {1, 1, 1, 1, 1}, Conv3dOptions{}},
    {{2, 4, 16, 16, 8}, {1, 1, 1, 8, 16}, Conv3dOptions{}},
};

void check(const std::vector<Array>& arrays, const Case& c, BuildConv build) {
  Graph graph;
  Tensor y = build(inputs_like(graph, arrays), c);
  expect_onednn_matches_reference(y.node(), arrays);
}

TEST(CpuOnednnConv, Forward) {
  for (const Case& c : cases)
    check({random_array(c.x, 1), random_array(c.kernel, 2)}, c, conv_forward);
}

TEST(CpuOnednnConv, BiasAndRelu) {
  for (const Case& c : cases)
    check({random_array(c.x, 1), random_array(c.kernel, 2), random_array({c.filters()}, 3)}, c,
          conv_with_bias_and_relu);
}

/// Batches that are cut into pieces, the ReLU following each: 4 x 400 KiB, 7 that no piece divides.
TEST(CpuOnednnConv, BiasAndReluInPieces) {
  for (std::int64_t batch : {4, 6, 7}) {
    Case c{{batch, 40, 40, 2}, {3, 3, 2, 64}};
    check({random_array(c.x, 1), random_array(c.kernel, 2), random_array({64}, 3)}, c,
          conv_with_bias_and_relu);
  }
}

/// cpu_few_channels_test.cpp has such cases.
bool has_few_channels(const Case& c) {
  ConvGeometry g = conv_geometry("test", c.x, c.kernel, c.options);
  return g.in_channels <= 8 && g.groups == 1 && !g.volume && g.rows.in > 1;
}

TEST(CpuOnednnConv, GradInput) {
  for (const Case& c : cases)
    if (!has_few_channels(c))
      check({random_array(c.output(), 1), random_array(c.kernel, 2)}, c, conv_grad_input);
}

TEST(CpuOnednnConv, GradKernel) {
  for (const Case& c : cases)
    check({random_array(c.x, 1), random_array(c.output(), 2)}, c, conv_grad_kernel);
}

/// From 64 pixels for each channel on; a convolution brings its gradient into our layout.
TEST(CpuOnednnConv, GradKernelOfOneTapIsAProductOfManyPixels) {
  auto workspace = [](const Case& c) {
    Graph graph;
    Tensor y = conv_grad_kernel(inputs_like(graph, {Array(TensorType{c.x, DType::f32}),
                                                    Array(TensorType{c.output(), DType::f32})}),
                                c);
    return find_kernel(y.node(), 1)->workspace().count;
  };
  EXPECT_EQ(workspace({{4, 32, 32, 16}, {1, 1, 16, 64}}), 0);
  EXPECT_GT(workspace({{4, 32, 31, 16}, {1, 1, 16, 64}}), 0);
  EXPECT_GT(workspace({{16, 32, 32, 16}, {1, 1, 16, 64}, Conv2dOptions{.stride = {2, 2}}}), 0);
}

TEST(CpuOnednnConv, BFloat16) {
  for (const Case& c : {
           Case{{2, 12, 12, 16}, {3, 3, 16, 32}},
           {{3, 5, 5, 24}, {1, 1, 24, 32}},  // few pixels beside channels
           {{2, 3, 6, 6, 16}, {3, 3, 3, 16, 32}, Conv3dOptions{}},
           // Gradients from patches: of kernels in two blocks, of inputs in four phases.
           {{1, 64, 64, 128}, {3, 3, 128, 64}, Conv2dOptions{.stride = {2, 2}}},
           {{2, 4, 6, 6, 16}, {1, 1, 1, 16, 64}, Conv3dOptions{.stride = {2, 2, 2}}},
           {{3, 8, 8, 256}, {4, 4, 256, 32}, Conv2dOptions{.stride = {2, 2}}},
           {{1, 6, 9, 256}, {1, 2, 256, 32}, Conv2dOptions{.stride = {2, 2}}},
           {{2, 7, 6, 256}, {3, 5, 256, 32}, Conv2dOptions{.stride = {3, 2}}},
           {{9, 13, 11, 256},
            {2, 3, 256, 32},
            Conv2dOptions{.stride = {1, 2}, .padding = Padding::explicit_amounts(3, 1, 0, 4)}},
           {{1, 2, 1, 257}, {5, 1, 257, 32}, Conv2dOptions{.stride = {4, 3}}},
       }) {
    Array x = random_array(c.x, 1).cast(DType::bf16),
          kernel = random_array(c.kernel, 2).cast(DType::bf16),
          dy = random_array(c.output(), 3).cast(DType::bf16),
          bias = random_array({c.filters()}, 4).cast(DType::bf16);
    check({x, kernel}, c, conv_forward);
    check({x, kernel, bias}, c, conv_with_bias_and_relu);
    check({dy, kernel}, c, conv_grad_input);
    check({x, dy}, c, conv_grad_kernel);
  }
}

TEST(CpuOnednnConv, PadsEachSideByItself) {
  std::vector<Array> arrays = {Array::of<float>({1, 2, 3, 4}, {1, 2, 2, 1}),
                               Array::of<float>({1, 1, 1, 1}, {2, 2, 1, 1})};
  Graph graph;
  Tensor y =
      conv_forward(inputs_like(graph, arrays),
                   {.options = Conv2dOptions{.padding = Padding::explicit_amounts(1, 0, 1, 0)}});
  Array result = run_onednn(y.node(), arrays, 1);
  EXPECT_THAT(result.span<float>(), ElementsAre(1, 3, 4, 10));
}

TEST(CpuOnednnConv, ReluKeepsNan) {
  float nan = std::numeric_limits<float>::quiet_NaN();
  // Two channels: from a pixel with an odd number of them, NaN in bf16 reaches the one before it in
  // oneDNN 3.7.
  std::vector<Array> arrays = {Array::of<float>({nan, 0, -1, 0, 2, 0, -nan, 0}, {1, 4, 1, 2}),
                               Array::of<float>({1, 1}, {1, 1, 2, 1}), Array::of<float>({0})};
  for (DType dtype : {DType::f32, DType::bf16}) {
    std::vector<Array> inputs;
    for (const Array& a : arrays) inputs.push_back(a.cast(dtype));
    Graph graph;
    Tensor built = conv_with_bias_and_relu(inputs_like(graph, inputs), {});
    const Node& node = built.node();
    if (!find_kernel(node, 1)) continue;
    Array y = run_onednn(node, inputs, 1);
    EXPECT_TRUE(std::isnan(y.at(0)));
    EXPECT_EQ(y.at(1), 0);
    EXPECT_EQ(y.at(2), 2);
    EXPECT_TRUE(std::isnan(y.at(3)));
  }
}

TEST(CpuOnednnConv, LeavesTheRestToOthers) {
  auto has_kernel = [](const Shape& x, DType dtype) {
    Graph graph;
    Tensor y = conv2d(input(graph, "x", {x, dtype}), input(graph, "kernel", {{3, 3, 2, 4}, dtype}));
    return find_kernel(y.node(), 1) != nullptr;
  };
  EXPECT_TRUE(has_kernel({1, 4, 4, 2}, DType::f32));
  EXPECT_FALSE(has_kernel({0, 4, 4, 2}, DType::f32));
  EXPECT_FALSE(has_kernel({1, 4, 4, 2}, DType::f64));
}

std::string packed_layout(const Node& node, int threads) {
  auto packed =
      find_kernel(node, {.threads = threads, .exact_convolutions = true})->packed_inputs();
  EXPECT_EQ(packed.size(), 1u);
  EXPECT_EQ(packed.at(0).input, 1);
  return packed.at(0).layout;
}

TEST(CpuOnednnConv, LayoutTextsTellLayoutsApart) {
  Graph graph;
  Tensor kernel = input(graph, "kernel", {{3, 3, 32, 64}, DType::f32});
  Tensor x = input(graph, "x", {{2, 8, 8, 32}, DType::f32});
  Tensor large = input(graph, "large", {{4, 16, 16, 32}, DType::f32});
  Tensor y = conv2d(x, kernel);
  EXPECT_EQ(packed_layout(y.node(), 1), packed_layout(conv2d(large, kernel).node(), 1));
  Tensor dx = conv2d_grad_input(y, kernel, {{}, {8, 8}});
  EXPECT_NE(packed_layout(y.node(), 1), packed_layout(dx.node(), 1));
}

TEST(CpuOnednnConv, RestoresTheNumberOfThreads) {
  auto stream = find_device("cpu")->make_stream();
  stream->activate(1);
  Graph graph;
  Tensor y = conv2d(input(graph, "x", {{1, 4, 4, 2}, DType::f32}),
                    input(graph, "kernel", {{3, 3, 2, 4}, DType::f32}));
  int seen = 0;
  ASSERT_TRUE(find_kernel(y.node(), 2));
#ifndef _OPENMP
#error "without OpenMP's option there is one thread whatever happens"
#endif
#pragma omp parallel
#pragma omp atomic
  ++seen;
  EXPECT_EQ(seen, 1);
}

}  // namespace
}  // namespace belfry::cpu
