// Covers conv3d, conv3d_grad_input, conv3d_grad_kernel, and of convolution*.cpp,
// conv_geometry.cpp and window.cpp what is about volumes.
#include "../nn_support.h"

namespace belfry::testing {
namespace {

struct Small {
  Graph graph;
  Tensor x = floats(graph, {1, 3, 2, 2, 1}, {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12});
  Tensor kernel = floats(graph, {2, 2, 2, 1, 1}, {1, 2, 3, 4, 5, 6, 7, 8});
};

TEST(Conv3d, ValidPaddingKeepsToTheVolume) {
  Small s;
  Tensor y = conv3d(s.x, s.kernel, {.padding = valid_padding});
  EXPECT_EQ(y.shape(), (Shape{1, 2, 1, 1, 1}));
  EXPECT_THAT(values(y), ElementsAre(204, 348));
}

TEST(Conv3d, SamePaddingPutsTheOddSliceBehind) {
  Small s;
  EXPECT_THAT(values(conv3d(s.x, s.kernel)),
              ElementsAre(204, 100, 94, 44, 348, 164, 150, 68, 110, 46, 35, 12));
  Tensor y = conv3d(s.x, s.kernel, {.stride = {2, 2, 1}});
  EXPECT_EQ(y.shape(), (Shape{1, 2, 1, 2, 1}));
  EXPECT_THAT(values(y), ElementsAre(204, 100, 110, 46));
}

TEST(Conv3d, ExplicitPadding) {
  Small s;
  Tensor y = conv3d(s.x, s.kernel, {.padding = Padding::explicit_amounts(1, 0, 0, 0, 0, 1)});
  EXPECT_EQ(y.shape(), (Shape{1, 3, 1, 2, 1}));
  EXPECT_THAT(values(y), ElementsAre(70, 38, 204, 100, 348, 164));
}

TEST(Conv3d, Dilation) {
  Small s;
  Tensor y = conv3d(s.x, s.kernel, {.dilation = {2, 1, 1}, .padding = valid_padding});
  EXPECT_THAT(values(y), ElementsAre(1 + 4 + 9 + 16 + 5 * 9 + 6 * 10 + 7 * 11 + 8 * 12));
}

TEST(Conv3d, GroupsSeeTheirOwnChannels) {
  Graph graph;
  Tensor x = floats(graph, {1, 2, 1, 1, 4}, {1, 2, 3, 4, 5, 6, 7, 8});
  Tensor kernel = floats(graph, {2, 1, 1, 2, 2}, {10, 20, 30, 40, 50, 60, 70, 80});
  EXPECT_THAT(values(conv3d(x, kernel, {.groups = 2, .padding = valid_padding})),
              ElementsAre(740, 1280));
}

TEST(Conv3d, SixteenBitTypesRoundOnce) {
  Graph graph;
  for (DType dtype : {DType::bf16, DType::f16}) {
    // 256 + 1 - 256, one slice each: an accumulator of 8 bits would lose the 1.
    Tensor x = cast(floats(graph, {1, 3, 1, 1, 1}, {256, 1, -256}), dtype);
    Tensor kernel = cast(floats(graph, {3, 1, 1, 1, 1}, {1, 1, 1}), dtype);
    Tensor y = conv3d(x, kernel, {.padding = valid_padding});
    EXPECT_EQ(y.dtype(), dtype);
    EXPECT_THAT(values(y), ElementsAre(1));
  }
}

TEST(Conv3d, BiasAndActivationOfTheFusedForm) {
  Small s;
  Tensor bias = floats(s.graph, {1}, {-300});
  ConvOptions options{.window = Conv3dOptions{.padding = valid_padding}, .bias = true};
  EXPECT_THAT(values(apply1(conv3d_op, {s.x, s.kernel, bias}, options)), ElementsAre(-96, 48));
  options.activation = Activation::relu;
  EXPECT_THAT(values(apply1(conv3d_op, {s.x, s.kernel, bias}, options)), ElementsAre(0, 48));
}

TEST(Conv3d, CountsMultiplyAddsAsTwo) {
  Graph graph;
  Tensor x = input(graph, "x", {{2, 6, 8, 8, 6}, DType::f32});
  Tensor kernel = input(graph, "kernel", {{5, 3, 3, 3, 4}, DType::f32});
  Tensor y = conv3d(x, kernel, {.stride = {3, 2, 2}, .groups = 2});
  double expected = 2.0 * (2 * 2 * 4 * 4 * 4) * (5 * 3 * 3 * 3);
  EXPECT_EQ(conv3d_op.flops(y.node()), expected);
  std::vector<Tensor> xs = {x, kernel};
  std::vector<Tensor> grads = gradients(sum(y), xs);
  EXPECT_TRUE(grads[0].node().is(conv3d_grad_input_op));
  EXPECT_TRUE(grads[1].node().is(conv3d_grad_kernel_op));
  EXPECT_EQ(conv3d_grad_input_op.flops(grads[0].node()), expected);
  EXPECT_EQ(conv3d_grad_kernel_op.flops(grads[1].node()), expected);
}

TEST(Conv3d, OptionsArePrintedForEachAxis) {
  Graph graph;
  Tensor x = input(graph, "x", {{1, 3, 4, 5, 1}, DType::f32});
  Tensor kernel = input(graph, "kernel", {{1, 1, 1, 1, 1}, DType::f32});
  Tensor y = conv3d(x, kernel, {.stride = {1, 2, 3}});
  EXPECT_EQ(to_string(y.node().options()),
            "stride=[1, 2, 3], dilation=[1, 1, 1], groups=1, padding=same, bias=false, "
            "activation=none");
  EXPECT_EQ(to_string(Padding::explicit_amounts(1, 2, 3, 4, 5, 6)), "[1, 2, 3, 4, 5, 6]");
  EXPECT_EQ(to_string(Padding::explicit_amounts(1, 2)), "[1, 2]");
}

TEST(Conv3d, OneNumberIsForAllAxes) {
  Graph graph;
  Tensor x = constant(graph, Array::zeros({1, 9, 9, 9, 1}));
  Tensor kernel = constant(graph, Array::zeros({3, 3, 3, 1, 1}));
  EXPECT_EQ(conv3d(x, kernel, {.stride = 2}).shape(), (Shape{1, 5, 5, 5, 1}));
  EXPECT_EQ(conv3d(x, kernel, {.dilation = 3, .padding = valid_padding}).shape(),
            (Shape{1, 3, 3, 3, 1}));
}

TEST(Conv3d, ErrorsSayWhatDoesNotFit) {
  Graph graph;
  auto make = [&](const Shape& x, const Shape& kernel, Conv3dOptions options = {}) {
    return error_of([&] {
      conv3d(constant(graph, Array::zeros(x)), constant(graph, Array::zeros(kernel)), options);
    });
  };
  EXPECT_EQ(
      make({1, 4, 4, 3}, {3, 3, 3, 3, 8}),
      "conv3d: input must be [n, d, h, w, c], got f32[1, 4, 4, 3]; if the axis of the batch is "
      "missing, put batch() behind the dataset, else use conv2d");
  EXPECT_EQ(make({1, 4, 4, 4, 3}, {3, 3, 3, 8}),
            "conv3d: kernel must be [kd, kh, kw, in / groups, out], got f32[3, 3, 3, 8]");
  EXPECT_EQ(make({1, 4, 4, 4, 3}, {3, 3, 3, 1, 8}),
            "conv3d: input has 3 channels but the kernel expects 1");
  EXPECT_EQ(make({1, 2, 9, 9, 1}, {3, 1, 1, 1, 1}, {.padding = valid_padding}),
            "conv3d: a window over 3 slices does not fit into 2 (2 and padding 0 + 0)");
  EXPECT_EQ(make({1, 2, 9, 9, 1}, {1, 1, 1, 1, 1}, {.stride = {0, 1, 1}}),
            "conv3d: stride of slices must be at least 1, got 0");
  EXPECT_EQ(make({1, 2, 9, 9, 1}, {1, 1, 1, 1, 1}, {.dilation = {1, 1, 0}}),
            "conv3d: dilation of columns must be at least 1, got 0");
  EXPECT_EQ(
      make({1, 2, 2, 2, 1}, {1, 1, 1, 1, 1}, {.padding = Padding::explicit_amounts(1, 1, 1, 1)}),
      "conv3d: padding must be given in front of and behind each of 3 axes, got [1, 1, 1, 1]");
  Tensor image = constant(graph, Array::zeros({1, 2, 2, 1}));
  Tensor one = constant(graph, Array::zeros({1, 1, 1, 1}));
  EXPECT_EQ(error_of([&] {
              conv2d(image, one, {.padding = Padding::explicit_amounts(1, 1, 1, 1, 1, 1)});
            }),
            "conv2d: padding must be given in front of and behind each of 2 axes, got "
            "[1, 1, 1, 1, 1, 1]");
}

struct Geometry {
  Shape x, kernel;
  Conv3dOptions options = {};
};

// As conv2d's, with numbers that tell the three axes apart.
const std::vector<Geometry>& geometries() {
  static const std::vector<Geometry> list = {
      {{2, 3, 4, 4, 4}, {3, 3, 3, 4, 8}},
      {{1, 1, 1, 1, 1}, {1, 1, 1, 1, 1}},
      {{1, 4, 3, 5, 3}, {2, 3, 2, 3, 5}, {.padding = valid_padding}},
      {{2, 5, 3, 4, 2}, {3, 2, 3, 2, 3}, {.stride = {2, 1, 3}}},
      {{1, 5, 4, 3, 1}, {2, 2, 1, 1, 2}, {.stride = {3, 2, 1}, .padding = valid_padding}},
      {{1, 4, 4, 2, 2}, {1, 1, 1, 2, 3}, {.stride = {2, 3, 1}}},
      {{1, 5, 4, 3, 2}, {3, 2, 2, 2, 2}, {.dilation = {2, 3, 1}}},
      {{1, 2, 3, 4, 6}, {2, 3, 2, 2, 9}, {.groups = 3}},
      {{1, 4, 3, 2, 3}, {3, 2, 3, 1, 3}, {.stride = {2, 1, 1}, .groups = 3}},
      {{1, 2, 3, 2, 2}, {3, 3, 2, 2, 2}, {.padding = Padding::explicit_amounts(0, 2, 3, 1, 1, 0)}},
      {{1, 1, 2, 2, 2}, {4, 3, 2, 2, 2}},
      {{0, 3, 2, 4, 2}, {3, 3, 3, 2, 3}},
  };
  return list;
}

TEST(Conv3d, PassesCheckOp) {
  for (const Geometry& g : geometries()) {
    SCOPED_TRACE(concat(g.x, " ", g.kernel));
    EXPECT_EQ(
        check_op({.build = [&](const Scope&, std::span<const Tensor> in) -> std::vector<Tensor> {
                    return {conv3d(in[0], in[1], g.options)};
                  },
                  .inputs = {noise(g.x), noise(g.kernel, 2)}}),
        "");
  }
}

TEST(Conv3d, SecondDerivativesPassCheckOp) {
  for (const Geometry& g : geometries()) {
    if (g.x.elements() > 80 || g.kernel.elements() > 60) continue;
    SCOPED_TRACE(concat(g.x, " ", g.kernel));
    EXPECT_EQ(check_op({.build =
                            [&](const Scope&, std::span<const Tensor> in) {
                              return square_gradients(conv3d(in[0], in[1], g.options), in);
                            },
                        .inputs = {noise(g.x), noise(g.kernel, 2)},
                        .rounding = 64}),
              "");
  }
}

TEST(Conv3d, FusedFormPassesCheckOp) {
  for (Activation activation : {Activation::none, Activation::relu}) {
    ConvOptions options{
        .window = Conv3dOptions{.stride = {1, 2, 1}}, .bias = true, .activation = activation};
    EXPECT_EQ(
        check_op({.build = [&](const Scope&, std::span<const Tensor> in) -> std::vector<Tensor> {
                    return {apply1(conv3d_op, {in[0], in[1], in[2]}, options)};
                  },
                  .inputs = {noise({2, 2, 5, 4, 3}), noise({2, 3, 3, 3, 4}, 2), noise({4}, 3)}}),
        "");
  }
}

// y, and the gradients of the sum of its squares.
std::vector<std::vector<double>> all_values(const Tensor& y, const std::vector<Tensor>& xs) {
  std::vector<std::vector<double>> all{values(y)};
  for (const Tensor& t : square_gradients(y, xs)) all.push_back(values(t));
  return all;
}

// Sums of small whole numbers are exact in any order.
Array whole(const Shape& shape) {
  Array out(shape, DType::f32);
  int i = 0;
  for (float& x : out.span<float>()) x = static_cast<float>(i++ * 5 % 7 - 3);
  return out;
}

TEST(Conv3d, OfOneSliceIsConv2dOfEachSlice) {
  Graph graph;
  Tensor x = constant(graph, whole({2, 3, 5, 4, 4}));
  Tensor kernel = constant(graph, whole({1, 3, 2, 2, 6}));
  Tensor images = reshape(x, {6, 5, 4, 4}), plane = reshape(kernel, {3, 2, 2, 6});
  Tensor y = conv3d(x, kernel, {.stride = {1, 2, 1}, .dilation = {3, 1, 2}, .groups = 2});
  Tensor flat = conv2d(images, plane, {.stride = {2, 1}, .dilation = {1, 2}, .groups = 2});
  EXPECT_EQ(all_values(y, {x, kernel}), all_values(flat, {images, plane}));
}

TEST(Conv3d, AlongTheDepthIsConv2dOfColumns) {
  Graph graph;
  Tensor x = constant(graph, whole({2, 5, 2, 3, 2}));
  Tensor kernel = constant(graph, whole({3, 1, 1, 2, 3}));
  Tensor image = reshape(x, {2, 5, 6, 2}), column = reshape(kernel, {3, 1, 2, 3});
  EXPECT_EQ(all_values(conv3d(x, kernel, {.stride = {2, 1, 1}}), {x, kernel}),
            all_values(conv2d(image, column, {.stride = {2, 1}}), {image, column}));
}

}  // namespace
}  // namespace belfry::testing
