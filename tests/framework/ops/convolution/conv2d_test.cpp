// Covers conv2d, conv2d_grad_input, conv2d_grad_kernel, depthwise_conv2d, and of
// convolution*.cpp, conv_geometry.cpp and window.cpp what is about images.
#include "../nn_support.h"

namespace belfry::testing {
namespace {

struct Small {
  Graph graph;
  Tensor x = floats(graph, {1, 3, 3, 1}, {1, 2, 3, 4, 5, 6, 7, 8, 9});
  Tensor kernel = floats(graph, {2, 2, 1, 1}, {1, 2, 3, 4});
};

TEST(Conv2d, ValidPaddingKeepsToTheImage) {
  Small s;
  Tensor y = conv2d(s.x, s.kernel, {.padding = valid_padding});
  EXPECT_EQ(y.shape(), (Shape{1, 2, 2, 1}));
  EXPECT_THAT(values(y), ElementsAre(37, 47, 67, 77));
}

TEST(Conv2d, SamePaddingPutsTheOddRowBehind) {
  Small s;
  EXPECT_THAT(values(conv2d(s.x, s.kernel)), ElementsAre(37, 47, 21, 67, 77, 33, 23, 26, 9));
  EXPECT_THAT(values(conv2d(s.x, s.kernel, {.stride = {2, 2}})), ElementsAre(37, 21, 23, 9));
}

TEST(Conv2d, SamePaddingWithoutNeedPadsNothing) {
  Small s;
  Tensor one = floats(s.graph, {1, 1, 1, 1}, {10});
  EXPECT_THAT(values(conv2d(s.x, one, {.stride = {3, 2}})), ElementsAre(10, 30));
}

TEST(Conv2d, ExplicitPadding) {
  Small s;
  Tensor y = conv2d(s.x, s.kernel, {.padding = Padding::explicit_amounts(1, 0, 1, 0)});
  EXPECT_THAT(values(y), ElementsAre(4, 11, 18, 18, 37, 47, 36, 67, 77));
  y = conv2d(s.x, s.kernel, {.padding = Padding::explicit_amounts(0, 0, 0, 2)});
  EXPECT_THAT(values(y), ElementsAre(37, 47, 21, 0, 67, 77, 33, 0));
}

TEST(Conv2d, Dilation) {
  Small s;
  Tensor y = conv2d(s.x, s.kernel, {.dilation = {2, 2}, .padding = valid_padding});
  EXPECT_THAT(values(y), ElementsAre(1 + 2 * 3 + 3 * 7 + 4 * 9));
  y = conv2d(s.x, s.kernel, {.dilation = {1, 2}, .padding = valid_padding});
  EXPECT_THAT(values(y), ElementsAre(1 + 2 * 3 + 3 * 4 + 4 * 6, 4 + 2 * 6 + 3 * 7 + 4 * 9));
}

TEST(Conv2d, GroupsSeeTheirOwnChannels) {
  Graph graph;
  Tensor x = floats(graph, {1, 1, 1, 4}, {1, 2, 3, 4});
  Tensor kernel = floats(graph, {1, 1, 2, 2}, {10, 20, 30, 40});
  EXPECT_THAT(values(conv2d(x, kernel, {.groups = 2})), ElementsAre(70, 220));
}

TEST(Conv2d, SixteenBitTypesRoundOnce) {
  Graph graph;
  for (DType dtype : {DType::bf16, DType::f16}) {
    // 256 + 1 - 256: an accumulator of 8 bits would lose the 1.
    Tensor x = cast(floats(graph, {1, 1, 1, 3}, {256, 1, -256}), dtype);
    Tensor kernel = cast(floats(graph, {1, 1, 3, 1}, {1, 1, 1}), dtype);
    Tensor y = conv2d(x, kernel);
    EXPECT_EQ(y.dtype(), dtype);
    EXPECT_THAT(values(y), ElementsAre(1));
  }
}

TEST(Conv2d, BiasAndActivationOfTheFusedForm) {
  Small s;
  Tensor bias = floats(s.graph, {1}, {-50});
  ConvOptions options{.window = Conv2dOptions{.padding = valid_padding}, .bias = true};
  EXPECT_THAT(values(apply1(conv2d_op, {s.x, s.kernel, bias}, options)),
              ElementsAre(-13, -3, 17, 27));
  options.activation = Activation::relu;
  EXPECT_THAT(values(apply1(conv2d_op, {s.x, s.kernel, bias}, options)), ElementsAre(0, 0, 17, 27));
}

TEST(Conv2d, AGradientOfTheInputMayHaveAnAddend) {
  Graph graph;
  Tensor dy = floats(graph, {1, 1, 2, 1}, {3, 5}), kernel = floats(graph, {1, 1, 1, 1}, {2});
  Tensor other = floats(graph, {1, 1, 2, 1}, {100, 200});
  ConvGradInputOptions options{Conv2dOptions{}, {1, 2}};
  EXPECT_THAT(values(apply1(conv2d_grad_input_op, {dy, kernel, other}, options)),
              ElementsAre(106, 210));
  Tensor longer = floats(graph, {1, 1, 3, 1}, {1, 2, 3});
  EXPECT_EQ(error_of([&] {
              apply1(conv2d_grad_input_op, {dy, kernel, longer}, options);
            }),
            "conv2d_grad_input: addend must be f32[1, 1, 2, 1], got f32[1, 1, 3, 1]");
}

TEST(Conv2d, CountsMultiplyAddsAsTwo) {
  Graph graph;
  Tensor x = input(graph, "x", {{2, 8, 8, 6}, DType::f32});
  Tensor kernel = input(graph, "kernel", {{3, 3, 3, 4}, DType::f32});
  Tensor y = conv2d(x, kernel, {.stride = {2, 2}, .groups = 2});
  double expected = 2.0 * (2 * 4 * 4 * 4) * (3 * 3 * 3);
  EXPECT_EQ(conv2d_op.flops(y.node()), expected);
  std::vector<Tensor> xs = {x, kernel};
  std::vector<Tensor> grads = gradients(sum(y), xs);
  EXPECT_EQ(conv2d_grad_input_op.flops(grads[0].node()), expected);
  EXPECT_EQ(conv2d_grad_kernel_op.flops(grads[1].node()), expected);
}

TEST(Conv2d, ErrorsSayWhatDoesNotFit) {
  Graph graph;
  Scope s = Scope(graph) / "down1";
  auto make = [&](const Shape& x, const Shape& kernel, Conv2dOptions options = {}) {
    return error_of([&] {
      Graph::PlacementGuard guard(graph, s.placement());
      conv2d(constant(graph, Array::zeros(x)), constant(graph, Array::zeros(kernel)), options);
    });
  };
  EXPECT_EQ(make({1, 4, 4, 3}, {3, 3, 1, 8}),
            "conv2d: input has 3 channels but the kernel expects 1 (at down1)");
  EXPECT_EQ(make({1, 4, 4, 4}, {3, 3, 3, 8}, {.groups = 2}),
            "conv2d: input has 4 channels but the kernel expects 6 (3 in each of 2 groups) "
            "(at down1)");
  EXPECT_EQ(make({1, 4, 4, 4}, {3, 3, 2, 5}, {.groups = 2}),
            "conv2d: 5 output channels cannot be divided into 2 groups (at down1)");
  EXPECT_EQ(
      make({4, 4, 3}, {3, 3, 3, 8}),
      "conv2d: input must be [n, h, w, c], got f32[4, 4, 3]; if the axis of the batch is missing, "
      "put batch() behind the dataset, else use conv1d (at down1)");
  EXPECT_EQ(make({1, 2, 4, 4, 3}, {3, 3, 3, 8}),
            "conv2d: input must be [n, h, w, c], got f32[1, 2, 4, 4, 3]; use conv3d (at down1)");
  EXPECT_EQ(make({1, 48}, {3, 3, 3, 8}),
            "conv2d: input must be [n, h, w, c], got f32[1, 48] (at down1)");
  EXPECT_EQ(make({1, 4, 4, 3}, {3, 3, 8}),
            "conv2d: kernel must be [kh, kw, in / groups, out], got f32[3, 3, 8] (at down1)");
  EXPECT_EQ(make({1, 3, 9, 1}, {2, 2, 1, 1}, {.dilation = {3, 1}, .padding = valid_padding}),
            "conv2d: a window over 4 rows does not fit into 3 (3 and padding 0 + 0) (at down1)");
  EXPECT_EQ(make({1, 3, 9, 1}, {2, 2, 1, 1}, {.stride = {1, 0}}),
            "conv2d: stride of columns must be at least 1, got 0 (at down1)");
  EXPECT_EQ(make({1, 3, 9, 1}, {2, 2, 1, 1}, {.dilation = {-1, 1}}),
            "conv2d: dilation of rows must be at least 1, got -1 (at down1)");
  EXPECT_EQ(make({1, 3, 9, 1}, {2, 2, 1, 1}, {.padding = Padding::explicit_amounts(0, -1, 0, 0)}),
            "conv2d: padding must be at least 0, got [0, -1, 0, 0] (at down1)");
  EXPECT_EQ(make({1, 0, 9, 1}, {2, 2, 1, 1}),
            "conv2d: the image has 0 rows; at least 1 is needed (at down1)");
  EXPECT_EQ(make({1, 3, 3, 1}, {2, 0, 1, 1}),
            "conv2d: the window has 0 columns; at least 1 is needed (at down1)");
  EXPECT_EQ(make({1, 3, 3, 1}, {2, 2, 1, 1}, {.groups = 0}),
            "conv2d: groups must be at least 1, got 0 (at down1)");
  constexpr std::int64_t huge = std::int64_t{1} << 62;
  EXPECT_EQ(make({1, 3, 3, 1}, {2, 2, 1, 1}, {.dilation = {1, huge}}),
            "conv2d: dilation of columns must be at most 2147483647, got 4611686018427387904 "
            "(at down1)");
  EXPECT_EQ(make({1, 3, 3, 0}, {2, 2, 4, 1}, {.groups = huge}),
            "conv2d: 4611686018427387904 groups of 4 channels; at most 2147483647 of each are "
            "possible (at down1)");
}

TEST(Conv2d, OneNumberIsForBothAxes) {
  Graph graph;
  Tensor x = constant(graph, Array::zeros({1, 9, 9, 1}));
  Tensor kernel = constant(graph, Array::zeros({3, 3, 1, 1}));
  EXPECT_EQ(conv2d(x, kernel, {.stride = 2}).shape(), (Shape{1, 5, 5, 1}));
  EXPECT_EQ(conv2d(x, kernel, {.dilation = 3, .padding = valid_padding}).shape(),
            (Shape{1, 3, 3, 1}));
}

TEST(Conv2d, ErrorsOfDtype) {
  Graph graph;
  Tensor x = constant(graph, Array::zeros({1, 3, 3, 1}, DType::u8));
  Tensor kernel = constant(graph, Array::zeros({1, 1, 1, 1}));
  EXPECT_EQ(error_of([&] { conv2d(x, kernel); }),
            "conv2d: input must be floating, got u8[1, 3, 3, 1]; cast it");
  EXPECT_EQ(error_of([&] { conv2d(cast(x, DType::bf16), kernel); }),
            "conv2d: input bf16[1, 3, 3, 1] and kernel f32[1, 1, 1, 1] have different dtypes; cast "
            "one of them");
}

struct Geometry {
  Shape x, kernel;
  Conv2dOptions options = {};
};

// Friendly and odd: sizes 1, primes, strides that leave rows over, dilation, groups, padding of all
// kinds, the empty batch.
const std::vector<Geometry>& geometries() {
  static const std::vector<Geometry> list = {
      {{2, 4, 4, 4}, {3, 3, 4, 8}},
      {{1, 1, 1, 1}, {1, 1, 1, 1}},
      {{1, 5, 7, 3}, {3, 2, 3, 5}, {.padding = valid_padding}},
      {{2, 5, 7, 2}, {3, 3, 2, 3}, {.stride = {2, 3}}},
      {{2, 7, 5, 1}, {2, 3, 1, 2}, {.stride = {3, 2}, .padding = valid_padding}},
      {{1, 6, 6, 2}, {1, 1, 2, 3}, {.stride = {2, 2}}},
      {{1, 7, 6, 2}, {3, 2, 2, 2}, {.dilation = {2, 3}}},
      {{1, 8, 7, 2},
       {2, 3, 2, 1},
       {.stride = {2, 1}, .dilation = {3, 2}, .padding = valid_padding}},
      {{2, 3, 5, 6}, {3, 3, 2, 9}, {.groups = 3}},
      {{1, 5, 5, 3}, {3, 3, 1, 3}, {.stride = {2, 2}, .groups = 3}},
      {{1, 4, 3, 2}, {3, 3, 2, 2}, {.padding = Padding::explicit_amounts(0, 2, 3, 1)}},
      {{1, 4, 4, 2},
       {4, 4, 2, 3},
       {.stride = {2, 2}, .padding = Padding::explicit_amounts(1, 1, 1, 1)}},
      {{1, 2, 3, 2}, {5, 5, 2, 2}},
      {{0, 4, 4, 2}, {3, 3, 2, 3}},
  };
  return list;
}

TEST(Conv2d, PassesCheckOp) {
  for (const Geometry& g : geometries()) {
    SCOPED_TRACE(concat(g.x, " ", g.kernel));
    EXPECT_EQ(
        check_op({.build = [&](const Scope&, std::span<const Tensor> in) -> std::vector<Tensor> {
                    return {conv2d(in[0], in[1], g.options)};
                  },
                  .inputs = {noise(g.x), noise(g.kernel, 2)}}),
        "");
  }
}

TEST(Conv2d, SecondDerivativesPassCheckOp) {
  for (const Geometry& g : geometries()) {
    if (g.x.elements() > 100 || g.kernel.elements() > 60) continue;
    SCOPED_TRACE(concat(g.x, " ", g.kernel));
    EXPECT_EQ(check_op({.build =
                            [&](const Scope&, std::span<const Tensor> in) {
                              return square_gradients(conv2d(in[0], in[1], g.options), in);
                            },
                        .inputs = {noise(g.x), noise(g.kernel, 2)},
                        .rounding = 64}),
              "");
  }
}

TEST(Conv2d, FusedFormPassesCheckOp) {
  for (Activation activation : {Activation::none, Activation::relu}) {
    ConvOptions options{
        .window = Conv2dOptions{.stride = {2, 1}}, .bias = true, .activation = activation};
    EXPECT_EQ(
        check_op({.build = [&](const Scope&, std::span<const Tensor> in) -> std::vector<Tensor> {
                    return {apply1(conv2d_op, {in[0], in[1], in[2]}, options)};
                  },
                  .inputs = {noise({2, 5, 4, 3}), noise({3, 3, 3, 4}, 2), noise({4}, 3)}}),
        "");
  }
}

TEST(DepthwiseConv2d, EachChannelHasItsOwnKernels) {
  Graph graph;
  Tensor x = floats(graph, {1, 1, 2, 2}, {1, 10, 2, 20});
  Tensor kernel = floats(graph, {1, 2, 2, 2}, {1, 2, 3, 4, 5, 6, 7, 8});  // [kh, kw, c, multiplier]
  Tensor y = depthwise_conv2d(x, kernel, {.padding = valid_padding});
  EXPECT_EQ(y.shape(), (Shape{1, 1, 1, 4}));
  EXPECT_THAT(values(y),
              ElementsAre(1 * 1 + 2 * 5, 1 * 2 + 2 * 6, 10 * 3 + 20 * 7, 10 * 4 + 20 * 8));
}

TEST(DepthwiseConv2d, PassesCheckOp) {
  for (auto [x, kernel] : {std::pair<Shape, Shape>{{2, 5, 4, 3}, {3, 3, 3, 1}},
                           {{1, 3, 3, 2}, {2, 3, 2, 3}},
                           {{0, 3, 3, 2}, {2, 3, 2, 3}}})
    EXPECT_EQ(
        check_op({.build = [](const Scope&, std::span<const Tensor> in) -> std::vector<Tensor> {
                    return {depthwise_conv2d(in[0], in[1], {.stride = {1, 2}})};
                  },
                  .inputs = {noise(x), noise(kernel, 2)}}),
        "");
}

TEST(DepthwiseConv2d, ErrorsSayWhatDoesNotFit) {
  Graph graph;
  Tensor x = floats(graph, {1, 1, 1, 2}, {1, 2}), kernel = floats(graph, {1, 1, 1, 1}, {1});
  EXPECT_EQ(error_of([&] { depthwise_conv2d(x, kernel); }),
            "depthwise_conv2d: input has 2 channels but the kernel expects 1");
  EXPECT_EQ(error_of([&] { depthwise_conv2d(x, reshape(kernel, Shape{1})); }),
            "depthwise_conv2d: kernel must be [kh, kw, c, multiplier], got f32[1]");
}

}  // namespace
}  // namespace belfry::testing
