#include "../nn_support.h"

namespace belfry::testing {
namespace {

TEST(Conv2dTranspose, SpreadsEachElementOverItsWindow) {
  Graph graph;
  Tensor x = floats(graph, {1, 2, 2, 1}, {1, 2, 3, 4});
  Tensor kernel = floats(graph, {2, 2, 1, 1}, {1, 2, 3, 4});
  Tensor y = conv2d_transpose(x, kernel, {.stride = {2, 2}, .padding = valid_padding});
  EXPECT_EQ(y.shape(), (Shape{1, 4, 4, 1}));
  EXPECT_THAT(values(y), ElementsAre(1, 2, 2, 4, 3, 4, 6, 8, 3, 6, 4, 8, 9, 12, 12, 16));
  // Overlapping windows add up.
  y = conv2d_transpose(x, kernel, {.padding = valid_padding});
  EXPECT_THAT(values(y), ElementsAre(1, 4, 4, 6, 20, 16, 9, 24, 16));
}

TEST(Conv2dTranspose, OutputSizes) {
  Graph graph;
  Tensor x = floats(graph, {1, 1, 1, 1}, {5});
  Tensor kernel = floats(graph, {3, 3, 1, 1}, {1, 2, 3, 4, 5, 6, 7, 8, 9});
  // same: the convolution of 2 x 2 pads one row behind.
  Tensor y = conv2d_transpose(x, kernel, {.stride = {2, 2}});
  EXPECT_THAT(values(y), ElementsAre(5, 10, 20, 25));
  // An image of 1 x 1 pads one row in front as well.
  y = conv2d_transpose(x, kernel, {.stride = {2, 2}}, {1, 1});
  EXPECT_THAT(values(y), ElementsAre(25));
  // given: rows cut away on all sides.
  Conv2dOptions cut{.stride = {2, 2}, .padding = Padding::explicit_amounts(1, 1, 1, 0)};
  EXPECT_THAT(values(conv2d_transpose(x, kernel, cut)), ElementsAre(25, 30));
  // valid: a row that no window reaches is zero.
  y = conv2d_transpose(x, kernel, {.stride = {2, 1}, .padding = valid_padding}, {4, 3});
  EXPECT_THAT(values(y), ElementsAre(5, 10, 15, 20, 25, 30, 35, 40, 45, 0, 0, 0));
}

// Along each axis for itself; of 6 by stride 2, same takes 11 and 12.
TEST(Conv2dTranspose, AnOutputSizeOfZeroIsTheDefault) {
  Graph graph;
  Tensor x = constant(graph, Array::zeros({1, 6, 6, 1}));
  Tensor kernel = constant(graph, Array::zeros({3, 3, 1, 1}));
  auto shape = [&](const Padding& padding, Size2 size) {
    return conv2d_transpose(x, kernel, {.stride = 2, .padding = padding}, size).shape();
  };
  EXPECT_EQ(shape(same_padding, 0), (Shape{1, 12, 12, 1}));
  EXPECT_EQ(shape(same_padding, {11, 0}), (Shape{1, 11, 12, 1}));
  EXPECT_EQ(shape(valid_padding, {0, 14}), (Shape{1, 13, 14, 1}));  // (6 - 1) * 2 + 3
  EXPECT_EQ(shape(Padding::explicit_amounts(1, 1, 2, 0), {12, 0}), (Shape{1, 12, 11, 1}));
  for (std::int64_t outside : {10, 13})
    EXPECT_THAT(
        error_of([&] {
          shape(same_padding, {outside, 0});
        }),
        ::testing::HasSubstr(concat("an output of ", outside, " x 12 belongs to an input of ",
                                    outside == 10 ? 5 : 7, " x 6, but the input is 6 x 6")));
}

TEST(Conv2dTranspose, ChannelsAndGroups) {
  Graph graph;
  Tensor x = floats(graph, {1, 1, 1, 2}, {1, 10});
  Tensor kernel = floats(graph, {1, 1, 3, 2}, {1, 2, 3, 4, 5, 6});  // [kh, kw, out, in]
  EXPECT_THAT(values(conv2d_transpose(x, kernel)), ElementsAre(21, 43, 65));
  EXPECT_THAT(values(conv2d_transpose(x, kernel, {.groups = 2})), ElementsAre(1, 3, 5, 20, 40, 60));
}

TEST(Conv2dTranspose, PassesCheckOp) {
  struct Geometry {
    Shape x, kernel;
    Conv2dOptions options = {};
    Size2 size = 0;
  };
  std::vector<Geometry> list = {
      {{2, 4, 4, 4}, {4, 4, 3, 4}, {.stride = {2, 2}}},
      {{1, 1, 1, 1}, {1, 1, 1, 1}},
      {{1, 3, 2, 3}, {3, 2, 2, 3}, {.stride = {2, 3}, .padding = valid_padding}},
      {{1, 3, 2, 2}, {3, 3, 2, 2}, {.stride = {2, 2}}, {5, 3}},
      {{1, 3, 3, 2}, {3, 2, 1, 2}, {.dilation = {2, 1}, .padding = valid_padding}},
      {{1, 2, 3, 4}, {3, 3, 3, 4}, {.stride = {2, 2}, .groups = 2}},
      {{1, 3, 3, 2}, {3, 3, 2, 2}, {.padding = Padding::explicit_amounts(1, 1, 0, 2)}},
      {{0, 3, 3, 2}, {3, 3, 2, 2}},
  };
  for (const Geometry& g : list) {
    SCOPED_TRACE(concat(g.x, " ", g.kernel));
    EXPECT_EQ(
        check_op({.build = [&](const Scope&, std::span<const Tensor> in) -> std::vector<Tensor> {
                    return {conv2d_transpose(in[0], in[1], g.options, g.size)};
                  },
                  .inputs = {noise(g.x), noise(g.kernel, 2)}}),
        "");
  }
}

TEST(Conv2dTranspose, ErrorsSayWhatDoesNotFit) {
  Graph graph;
  Tensor kernel = constant(graph, Array::zeros({3, 3, 4, 1}));
  auto make = [&](const Shape& x, Conv2dOptions options, Size2 size) {
    return error_of([&] {
      Graph::PlacementGuard guard(graph, (Scope(graph) / "up1").placement());
      conv2d_transpose(constant(graph, Array::zeros(x)), kernel, options, size);
    });
  };
  EXPECT_EQ(make({1, 2, 2, 3}, {}, {0, 0}),
            "conv2d_transpose: input has 3 channels but the kernel expects 1 (at up1)");
  EXPECT_EQ(make({1, 2, 2, 1}, {.stride = {2, 2}}, {5, 4}),
            "conv2d_transpose: an output of 5 x 4 belongs to an input of 3 x 2, but the input is "
            "2 x 2 (at up1)");
  EXPECT_EQ(make({1, 1, 1, 1}, {.padding = Padding::explicit_amounts(2, 2, 1, 1)}, {0, 0}),
            "conv2d_transpose: an output of -1 x 1 is empty; pad less (at up1)");
  EXPECT_EQ(make({2, 2, 1}, {}, {0, 0}),
            "conv2d_transpose: input must be [n, h, w, in], got f32[2, 2, 1]; if the axis of the "
            "batch is "
            "missing, put batch() behind the dataset, else use conv1d_transpose (at up1)");
  EXPECT_EQ(make({1, 2, 2, 1}, {}, {-1, 2}),
            "conv2d_transpose: output_size must be at least 1, or 0 for the default, along each "
            "axis, got -1 x 2 (at up1)");
  EXPECT_EQ(make({1, 2, 2, 1}, {.stride = {2, 0}}, 0),
            "conv2d_transpose: stride of columns must be at least 1, got 0 (at up1)");
  EXPECT_EQ(make({1, 2, 2, 1}, {.groups = 0}, 0),
            "conv2d_transpose: groups must be at least 1, got 0 (at up1)");
}

TEST(Conv3dTranspose, SpreadsEachElementOverItsWindow) {
  Graph graph;
  Tensor x = floats(graph, {1, 2, 1, 1, 1}, {1, 10});
  Tensor kernel = floats(graph, {2, 1, 2, 1, 1}, {1, 2, 3, 4});
  Tensor y = conv3d_transpose(x, kernel, {.padding = valid_padding});
  EXPECT_EQ(y.shape(), (Shape{1, 3, 1, 2, 1}));
  EXPECT_THAT(values(y), ElementsAre(1, 2, 13, 24, 30, 40));
  y = conv3d_transpose(x, kernel, {.stride = {2, 3, 2}});
  EXPECT_EQ(y.shape(), (Shape{1, 4, 3, 2, 1}));
  y = conv3d_transpose(x, kernel, {.stride = {2, 1, 1}, .padding = valid_padding}, {5, 1, 2});
  EXPECT_THAT(values(y), ElementsAre(1, 2, 3, 4, 10, 20, 30, 40, 0, 0));
}

TEST(Conv3dTranspose, PassesCheckOp) {
  struct Geometry {
    Shape x, kernel;
    Conv3dOptions options = {};
  };
  for (const Geometry& g :
       {Geometry{{1, 2, 3, 2, 3}, {3, 2, 2, 2, 3}, {.stride = {2, 1, 3}}},
        {{1, 2, 2, 3, 4}, {2, 3, 1, 3, 4}, {.groups = 2, .padding = valid_padding}}}) {
    SCOPED_TRACE(concat(g.x, " ", g.kernel));
    EXPECT_EQ(
        check_op({.build = [&](const Scope&, std::span<const Tensor> in) -> std::vector<Tensor> {
                    return {conv3d_transpose(in[0], in[1], g.options)};
                  },
                  .inputs = {noise(g.x), noise(g.kernel, 2)}}),
        "");
  }
}

TEST(Conv3dTranspose, ErrorsSayWhatDoesNotFit) {
  Graph graph;
  Tensor x = constant(graph, Array::zeros({1, 2, 2, 2, 1}));
  Tensor kernel = constant(graph, Array::zeros({3, 3, 3, 4, 1}));
  EXPECT_EQ(error_of([&] {
              conv3d_transpose(x, kernel, {.stride = {2, 1, 1}}, {5, 2, 2});
            }),
            "conv3d_transpose: an output of 5 x 2 x 2 belongs to an input of 3 x 2 x 2, but the "
            "input is 2 x 2 x 2");
  EXPECT_EQ(error_of([&] {
              conv3d_transpose(x, reshape(kernel, {9, 3, 4, 1}));
            }),
            "conv3d_transpose: kernel must be [kd, kh, kw, out / groups, in], got f32[9, 3, 4, 1]");
}

TEST(Conv1dTranspose, SpreadsEachElementOverItsWindow) {
  Graph graph;
  Tensor x = floats(graph, {1, 3, 1}, {1, 2, 3}), kernel = floats(graph, {2, 1, 1}, {1, 10});
  EXPECT_THAT(values(conv1d_transpose(x, kernel, {.padding = valid_padding})),
              ElementsAre(1, 12, 23, 30));
  Tensor y = conv1d_transpose(x, kernel, {.stride = 2});
  EXPECT_EQ(y.shape(), (Shape{1, 6, 1}));
  EXPECT_THAT(values(y), ElementsAre(1, 10, 2, 20, 3, 30));
  EXPECT_THAT(values(conv1d_transpose(x, kernel, {.stride = 2, .padding = valid_padding}, 7)),
              ElementsAre(1, 10, 2, 20, 3, 30, 0));
  EXPECT_THAT(values(conv1d_transpose(x, kernel, {.padding = Padding::explicit_amounts(1, 0)})),
              ElementsAre(12, 23, 30));
}

TEST(Conv1dTranspose, PassesCheckOpAndErrorsSayWhatDoesNotFit) {
  EXPECT_EQ(check_op({.build = [](const Scope&, std::span<const Tensor> in) -> std::vector<Tensor> {
                        return {conv1d_transpose(in[0], in[1], {.stride = 2, .groups = 2})};
                      },
                      .inputs = {noise({2, 4, 6}), noise({3, 2, 6}, 2)}}),
            "");
  Graph graph;
  Tensor x = floats(graph, {1, 3, 1}, {1, 2, 3}), kernel = floats(graph, {1, 1, 2}, {1, 10});
  EXPECT_EQ(error_of([&] { conv1d_transpose(x, kernel); }),
            "conv1d_transpose: input has 1 channels but the kernel expects 2");
  EXPECT_EQ(error_of([&] { conv1d_transpose(reshape(x, {3}), kernel); }),
            "conv1d_transpose: input must be [n, w, in], got f32[3]");
  Tensor one = floats(graph, {1, 1, 1}, {1});
  EXPECT_EQ(error_of([&] { conv1d_transpose(x, one, {.stride = 2}, 9); }),
            "conv1d_transpose: an output of 9 belongs to an input of 5, but the input is 3");
  EXPECT_EQ(error_of([&] { conv1d_transpose(x, one, {.stride = 0}); }),
            "conv1d_transpose: stride of samples must be at least 1, got 0");
  EXPECT_EQ(error_of([&] { conv1d_transpose(x, one, {}, -1); }),
            "conv1d_transpose: output_size must be at least 1, or 0 for the default, along each "
            "axis, got -1");
}

}  // namespace
}  // namespace belfry::testing
