// Covers conv1d, conv2d, conv3d, the three conv*_transpose, depthwise_conv2d.
#include "belfry/framework/layers/layers.h"
#include "belfry/framework/ops/math.h"
#include "belfry/framework/ops/movement/shape_ops.h"
#include "layers_support.h"

namespace belfry::testing {
namespace {

std::string type_of(Graph& graph, std::string_view variable) {
  Node* node = graph.find_variable(variable);
  return node ? to_string(node->output()) : "none";
}

TEST(Size2, IsOneNumberOrTwo) {
  constexpr Size2 square = 5, wide{3, 7};
  EXPECT_EQ(square, Size2(5, 5));
  EXPECT_EQ(wide.rows, 3);
  EXPECT_EQ(wide.columns, 7);
  EXPECT_THAT(wide.array(), ElementsAre(3, 7));
}

TEST(Conv2dLayer, IsCalledAsInLenet) {
  Graph graph;
  Scope s(graph);
  Tensor x = input(graph, "image", {{2, 28, 28, 1}, DType::f32});
  x = max_pool(relu(conv2d(s / "conv1", x, {.filters = 32, .kernel = 5})));
  EXPECT_EQ(x.shape(), (Shape{2, 14, 14, 32}));
  x = max_pool(relu(conv2d(s / "conv2", x, {.filters = 64, .kernel = {3, 5}})));
  EXPECT_EQ(x.shape(), (Shape{2, 7, 7, 64}));
  EXPECT_EQ(flatten(x).shape(), (Shape{2, 3136}));
  EXPECT_EQ(type_of(graph, "conv1/kernel"), "f32[5, 5, 1, 32]");
  EXPECT_EQ(type_of(graph, "conv1/bias"), "f32[32]");
  EXPECT_EQ(type_of(graph, "conv2/kernel"), "f32[3, 5, 32, 64]");
  EXPECT_EQ(x.node().scope(), "conv2");
}

TEST(Conv2dLayer, ConvolvesAndAddsTheBias) {
  Graph graph;
  Tensor x = tensor(graph, {1, 2, 3, 1}, {1.0f, 2.0f, 3.0f, 4.0f, 5.0f, 6.0f});
  Tensor y = conv2d(Scope(graph) / "c", x, {.filters = 1, .kernel = 2, .padding = valid_padding});
  // 1 * 1 + 10 * 2 + 100 * 4 + 1000 * 5, then one column on; plus 0.5.
  EXPECT_THAT(values(y, {{"c/kernel", Array::of({1.0f, 10.0f, 100.0f, 1000.0f}, {2, 2, 1, 1})},
                         {"c/bias", Array::of({0.5f})}}),
              ElementsAre(5421.5, 6532.5));
}

TEST(Conv2dLayer, PassesItsOptionsOn) {
  Graph graph;
  Tensor x = input(graph, "x", {{2, 9, 8, 4}, DType::f64});
  Tensor y = conv2d(Scope(graph) / "c", x,
                    {.filters = 6,
                     .kernel = 3,
                     .stride = {2, 1},
                     .padding = Padding::explicit_amounts(1, 2, 3, 4),
                     .use_bias = false,
                     .dilation = {1, 2},
                     .groups = 2,
                     .kernel_initializer = he_normal()});
  EXPECT_EQ(y.shape(), (Shape{2, 5, 11, 6}));  // (9 + 3 - 3) / 2 + 1, 8 + 7 - 5 + 1
  EXPECT_EQ(type_of(graph, "c/kernel"), "f64[3, 3, 2, 6]");
  EXPECT_EQ(type_of(graph, "c/bias"), "none");
  EXPECT_EQ(to_string(Variable(*graph.find_variable("c/kernel")).options().initializer),
            to_string(he_normal()));
}

TEST(Conv2dLayer, ErrorsSayWhatAndWhere) {
  Graph graph;
  Tensor x = input(graph, "x", {{1, 4, 4, 3}, DType::f32});
  auto error = [&](Tensor t, Conv2dLayerOptions o) {
    return error_of([&] { conv2d(Scope(graph) / "c", t, o); });
  };
  EXPECT_EQ(error(x, {.filters = 0, .kernel = 3}),
            "conv2d: filters must be at least 1, got 0 (at c)");
  EXPECT_EQ(error(x, {.filters = 4, .kernel = {3, 0}}),
            "conv2d: kernel must be at least 1 x 1, got 3 x 0 (at c)");
  EXPECT_EQ(error(x, {.filters = 4, .kernel = 3, .groups = 2}),
            "conv2d: 2 groups do not divide 3 channels and 4 filters (at c)");
  EXPECT_EQ(error(x, {.filters = 4, .kernel = 3, .groups = 0}),
            "conv2d: 0 groups do not divide 3 channels and 4 filters (at c)");
  EXPECT_EQ(error(input(graph, "flat", {{1, 48}, DType::f32}), {.filters = 4, .kernel = 3}),
            "conv2d: x must be an image [n, h, w, c], got f32[1, 48] (at c)");
  EXPECT_EQ(error(input(graph, "bytes", {{1, 4, 4, 3}, DType::u8}), {.filters = 4, .kernel = 3}),
            "conv2d: x must be of a floating type, got u8[1, 4, 4, 3]; cast it first (at c)");
  EXPECT_THAT(error(x, {.filters = 4, .kernel = 5, .padding = valid_padding}), HasSubstr("(at c)"));
  EXPECT_TRUE(graph.effects().empty());
}

TEST(Conv2dTransposeLayer, SpreadsEachPixel) {
  Graph graph;
  Tensor x = tensor(graph, {1, 1, 2, 1}, {1.0f, 3.0f});
  Tensor y = conv2d_transpose(Scope(graph) / "up", x, {.filters = 1, .kernel = 2, .stride = 2});
  EXPECT_EQ(y.shape(), (Shape{1, 2, 4, 1}));
  EXPECT_THAT(values(y, {{"up/kernel", Array::of({1.0f, 2.0f, 3.0f, 4.0f}, {2, 2, 1, 1})},
                         {"up/bias", Array::of({100.0f})}}),
              ElementsAre(101, 102, 103, 106, 103, 104, 109, 112));
}

TEST(Conv2dTransposeLayer, PassesItsOptionsOn) {
  Graph graph;
  Tensor x = input(graph, "x", {{2, 4, 4, 6}, DType::f32});
  Tensor y = conv2d_transpose(Scope(graph) / "up", x,
                              {.filters = 4,
                               .kernel = 3,
                               .stride = 2,
                               .use_bias = false,
                               .groups = 2,
                               .output_size = {7, 8}});
  EXPECT_EQ(y.shape(), (Shape{2, 7, 8, 4}));
  EXPECT_EQ(type_of(graph, "up/kernel"), "f32[3, 3, 2, 6]");
  EXPECT_EQ(type_of(graph, "up/bias"), "none");
  EXPECT_EQ(y.node().scope(), "up");
  Tensor dilated =
      conv2d_transpose(Scope(graph) / "wide", x,
                       {.filters = 1, .kernel = 3, .padding = valid_padding, .dilation = 2});
  EXPECT_EQ(dilated.shape(), (Shape{2, 8, 8, 1}));  // (4 - 1) + 5
}

TEST(Conv2dTransposeLayer, ErrorsSayWhatAndWhere) {
  Graph graph;
  Tensor x = input(graph, "x", {{1, 4, 4, 3}, DType::f32});
  auto error = [&](Conv2dTransposeLayerOptions o) {
    return error_of([&] { conv2d_transpose(Scope(graph) / "up", x, o); });
  };
  EXPECT_EQ(error({.filters = 0, .kernel = 3}),
            "conv2d_transpose: filters must be at least 1, got 0 (at up)");
  EXPECT_EQ(error({.filters = 3, .kernel = 3, .groups = 2}),
            "conv2d_transpose: 2 groups do not divide 3 channels and 3 filters (at up)");
  EXPECT_THAT(error({.filters = 3, .kernel = 3, .stride = 2, .output_size = 20}),
              HasSubstr("conv2d_transpose: an output of 20 x 20"));
}

TEST(DepthwiseConv2dLayer, KeepsChannelsApart) {
  Graph graph;
  Tensor x = tensor(graph, {1, 1, 2, 2}, {1.0f, 2.0f, 3.0f, 4.0f});
  Tensor y = depthwise_conv2d(Scope(graph) / "d", x,
                              {.kernel = {1, 2}, .padding = valid_padding, .multiplier = 2});
  // Channel 0: 1, 3; channel 1: 2, 4. Kernel [1, 2, c, m].
  EXPECT_THAT(values(y, {{"d/kernel", Array::of({1.0f, 10.0f, 100.0f, 1000.0f,  //
                                                 2.0f, 20.0f, 200.0f, 2000.0f},
                                                {1, 2, 2, 2})},
                         {"d/bias", Array::of({0.0f, 0.0f, 0.0f, 5.0f})}}),
              ElementsAre(7, 70, 1000, 10005));
}

TEST(DepthwiseConv2dLayer, PassesItsOptionsOn) {
  Graph graph;
  Tensor x = input(graph, "x", {{2, 8, 8, 3}, DType::f32});
  Tensor y = depthwise_conv2d(Scope(graph) / "d", x,
                              {.kernel = 3, .stride = 2, .use_bias = false, .multiplier = 2});
  EXPECT_EQ(y.shape(), (Shape{2, 4, 4, 6}));
  EXPECT_EQ(type_of(graph, "d/kernel"), "f32[3, 3, 3, 2]");
  EXPECT_EQ(type_of(graph, "d/bias"), "none");
  EXPECT_EQ(
      error_of([&] { depthwise_conv2d(Scope(graph) / "e", x, {.kernel = 3, .multiplier = 0}); }),
      "depthwise_conv2d: multiplier must be at least 1, got 0 (at e)");
  EXPECT_EQ(error_of([&] { depthwise_conv2d(Scope(graph) / "e", x, {.kernel = 0}); }),
            "depthwise_conv2d: kernel must be at least 1 x 1, got 0 x 0 (at e)");
}

TEST(Size3, IsOneNumberOrThree) {
  constexpr Size3 cube = 5, long_one{3, 7, 9};
  EXPECT_EQ(cube, Size3(5, 5, 5));
  EXPECT_THAT(long_one.array(), ElementsAre(3, 7, 9));
}

TEST(Conv1dLayer, ConvolvesAndAddsTheBias) {
  Graph graph;
  Tensor x = tensor(graph, {1, 3, 1}, {1.0f, 2.0f, 3.0f});
  Tensor y = conv1d(Scope(graph) / "c", x, {.filters = 1, .kernel = 2, .padding = valid_padding});
  EXPECT_THAT(
      values(y, {{"c/kernel", Array::of({1.0f, 10.0f}, {2, 1, 1})}, {"c/bias", Array::of({0.5f})}}),
      ElementsAre(21.5, 32.5));
}

TEST(Conv1dLayer, PassesItsOptionsOn) {
  Graph graph;
  Tensor x = input(graph, "x", {{2, 9, 4}, DType::f32});
  Tensor y = conv1d(Scope(graph) / "c", x,
                    {.filters = 6,
                     .kernel = 3,
                     .stride = 2,
                     .padding = Padding::explicit_amounts(1, 2),
                     .use_bias = false,
                     .dilation = 2,
                     .groups = 2});
  EXPECT_EQ(y.shape(), (Shape{2, 4, 6}));  // (9 + 3 - 5) / 2 + 1
  EXPECT_EQ(type_of(graph, "c/kernel"), "f32[3, 2, 6]");
  EXPECT_EQ(type_of(graph, "c/bias"), "none");
  y = conv1d_transpose(Scope(graph) / "up", x,
                       {.filters = 6, .kernel = 3, .stride = 2, .groups = 2, .output_size = 17});
  EXPECT_EQ(y.shape(), (Shape{2, 17, 6}));
  EXPECT_EQ(type_of(graph, "up/kernel"), "f32[3, 3, 4]");
  EXPECT_EQ(type_of(graph, "up/bias"), "f32[6]");
}

TEST(Conv3dLayer, ConvolvesAndAddsTheBias) {
  Graph graph;
  Tensor x = tensor(graph, {1, 2, 1, 2, 1}, {1.0f, 2.0f, 3.0f, 4.0f});
  Tensor y =
      conv3d(Scope(graph) / "c", x, {.filters = 1, .kernel = {2, 1, 2}, .padding = valid_padding});
  EXPECT_THAT(values(y, {{"c/kernel", Array::of({1.0f, 10.0f, 100.0f, 1000.0f}, {2, 1, 2, 1, 1})},
                         {"c/bias", Array::of({0.5f})}}),
              ElementsAre(4321.5));
}

TEST(Conv3dLayer, PassesItsOptionsOn) {
  Graph graph;
  Tensor x = input(graph, "x", {{2, 5, 9, 8, 4}, DType::f64});
  Tensor y = conv3d(Scope(graph) / "c", x,
                    {.filters = 6,
                     .kernel = {2, 3, 3},
                     .stride = {1, 2, 1},
                     .padding = Padding::explicit_amounts(1, 0, 1, 2, 3, 4),
                     .use_bias = false,
                     .dilation = {3, 1, 2},
                     .groups = 2,
                     .kernel_initializer = he_normal()});
  EXPECT_EQ(y.shape(), (Shape{2, 3, 5, 11, 6}));  // 5 + 1 - 4 + 1, as conv2d's
  EXPECT_EQ(type_of(graph, "c/kernel"), "f64[2, 3, 3, 2, 6]");
  EXPECT_EQ(type_of(graph, "c/bias"), "none");
  EXPECT_EQ(to_string(Variable(*graph.find_variable("c/kernel")).options().initializer),
            to_string(he_normal()));
  EXPECT_EQ(y.node().scope(), "c");
}

TEST(Conv3dTransposeLayer, PassesItsOptionsOn) {
  Graph graph;
  Tensor x = input(graph, "x", {{2, 3, 4, 4, 6}, DType::f32});
  Tensor y = conv3d_transpose(
      Scope(graph) / "up", x,
      {.filters = 4, .kernel = 3, .stride = {1, 2, 2}, .groups = 2, .output_size = {3, 7, 8}});
  EXPECT_EQ(y.shape(), (Shape{2, 3, 7, 8, 4}));
  EXPECT_EQ(type_of(graph, "up/kernel"), "f32[3, 3, 3, 2, 6]");
  EXPECT_EQ(type_of(graph, "up/bias"), "f32[4]");
}

TEST(ConvolutionalLayers, ErrorsNameAxesAndPlace) {
  Graph graph;
  Scope s = Scope(graph) / "c";
  Tensor image = input(graph, "x", {{1, 4, 4, 3}, DType::f32});
  EXPECT_EQ(error_of([&] { conv1d(s, image, {.filters = 1, .kernel = 0}); }),
            "conv1d: kernel must be at least 1, got 0 (at c)");
  EXPECT_EQ(error_of([&] { conv1d(s, image, {.filters = 1, .kernel = 1}); }),
            "conv1d: x must be a signal [n, w, c], got f32[1, 4, 4, 3]; use conv2d (at c)");
  EXPECT_EQ(error_of([&] {
              conv3d(s, image, {.filters = 1, .kernel = {1, 0, 1}});
            }),
            "conv3d: kernel must be at least 1 x 1 x 1, got 1 x 0 x 1 (at c)");
  EXPECT_EQ(error_of([&] { conv3d_transpose(s, image, {.filters = 1, .kernel = 1}); }),
            "conv3d_transpose: x must be a volume [n, d, h, w, c], got f32[1, 4, 4, 3]; if the "
            "axis of the batch is missing, put batch() behind the dataset, else use "
            "conv2d_transpose (at c)");
}

TEST(ConvolutionalLayers, GradientsAgreeWithDifferences) {
  auto check = [](auto layer) {
    return check_op({.build =
                         [layer](const Scope& s, std::span<const Tensor> x) {
                           return std::vector<Tensor>{layer(s / "layer", x[0])};
                         },
                     .inputs = {noise({2, 5, 4, 2})}});
  };
  EXPECT_EQ(check([](Scope s, Tensor x) { return conv2d(s, x, {.filters = 3, .kernel = 3}); }), "");
  EXPECT_EQ(check([](Scope s, Tensor x) {
              return conv2d_transpose(s, x, {.filters = 3, .kernel = 3, .stride = 2});
            }),
            "");
  EXPECT_EQ(check([](Scope s, Tensor x) { return depthwise_conv2d(s, x, {.kernel = 3}); }), "");
  EXPECT_EQ(check([](Scope s, Tensor x) {
              return conv1d(s, reshape(x, {2, 20, 2}), {.filters = 3, .kernel = 3});
            }),
            "");
  EXPECT_EQ(check([](Scope s, Tensor x) {
              return conv1d_transpose(s, reshape(x, {2, 20, 2}), {.filters = 1, .kernel = 2});
            }),
            "");
  EXPECT_EQ(check([](Scope s, Tensor x) {
              return conv3d(s, reshape(x, {2, 5, 2, 2, 2}), {.filters = 3, .kernel = 2});
            }),
            "");
  EXPECT_EQ(check([](Scope s, Tensor x) {
              return conv3d_transpose(s, reshape(x, {2, 5, 2, 2, 2}),
                                      {.filters = 1, .kernel = 2, .stride = {2, 1, 1}});
            }),
            "");
}

}  // namespace
}  // namespace belfry::testing
