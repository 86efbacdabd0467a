// Covers conv1d and one_row.h.
#include "../nn_support.h"

namespace belfry::testing {
namespace {

TEST(Conv1d, SlidesAlongTheSignal) {
  Graph graph;
  Tensor x = floats(graph, {1, 5, 1}, {1, 2, 3, 4, 5}), kernel = floats(graph, {2, 1, 1}, {1, 10});
  Tensor y = conv1d(x, kernel);
  EXPECT_EQ(y.shape(), (Shape{1, 5, 1}));
  EXPECT_THAT(values(y), ElementsAre(21, 32, 43, 54, 5));  // the odd one behind
  EXPECT_THAT(values(conv1d(x, kernel, {.stride = 2})), ElementsAre(21, 43, 5));
  EXPECT_THAT(values(conv1d(x, kernel, {.padding = valid_padding})), ElementsAre(21, 32, 43, 54));
  EXPECT_THAT(values(conv1d(x, kernel, {.dilation = 3, .padding = valid_padding})),
              ElementsAre(41, 52));
  EXPECT_THAT(values(conv1d(x, kernel, {.padding = Padding::explicit_amounts(2, 0)})),
              ElementsAre(0, 10, 21, 32, 43, 54));
}

TEST(Conv1d, ChannelsAndGroups) {
  Graph graph;
  Tensor x = floats(graph, {1, 1, 4}, {1, 2, 3, 4});
  EXPECT_THAT(values(conv1d(x, floats(graph, {1, 4, 1}, {1, 10, 100, 1000}))), ElementsAre(4321));
  Tensor kernel = floats(graph, {1, 2, 2}, {10, 20, 30, 40});
  EXPECT_THAT(values(conv1d(x, kernel, {.groups = 2})), ElementsAre(70, 220));
}

TEST(Conv1d, PassesCheckOp) {
  struct Geometry {
    Shape x, kernel;
    Conv1dOptions options = {};
  };
  for (const Geometry& g : {Geometry{{2, 7, 3}, {3, 3, 4}},
                            {{1, 8, 2}, {3, 2, 3}, {.stride = 2, .dilation = 2}},
                            {{2, 5, 4}, {2, 2, 6}, {.groups = 2, .padding = valid_padding}},
                            {{1, 4, 2}, {3, 2, 1}, {.padding = Padding::explicit_amounts(3, 1)}},
                            {{0, 4, 2}, {3, 2, 1}}}) {
    SCOPED_TRACE(concat(g.x, " ", g.kernel));
    EXPECT_EQ(
        check_op({.build = [&](const Scope&, std::span<const Tensor> in) -> std::vector<Tensor> {
                    return {conv1d(in[0], in[1], g.options)};
                  },
                  .inputs = {noise(g.x), noise(g.kernel, 2)}}),
        "");
  }
}

TEST(Conv1d, ErrorsSayWhatDoesNotFit) {
  Graph graph;
  Tensor x = constant(graph, Array::zeros({1, 4, 3}));
  Tensor kernel = constant(graph, Array::zeros({5, 3, 2}));
  EXPECT_EQ(error_of([&] { conv1d(kernel, reshape(kernel, {30})); }),
            "conv1d: kernel must be [kw, in / groups, out], got f32[30]");
  EXPECT_EQ(error_of([&] { conv1d(reshape(x, {12}), kernel); }),
            "conv1d: input must be [n, w, c], got f32[12]");
  EXPECT_EQ(error_of([&] {
              conv1d(reshape(x, {1, 2, 2, 3}), kernel);
            }),
            "conv1d: input must be [n, w, c], got f32[1, 2, 2, 3]; use conv2d");
  EXPECT_EQ(error_of([&] {
              conv1d(reshape(x, {4, 3}), kernel);
            }),
            "conv1d: input must be [n, w, c], got f32[4, 3]; if the axis of the batch is missing, "
            "put batch() behind the dataset");
  EXPECT_EQ(error_of([&] { conv1d(x, kernel, {.stride = 0}); }),
            "conv1d: stride of samples must be at least 1, got 0");
  EXPECT_EQ(error_of([&] { conv1d(x, Tensor()); }), "conv1d: input 1 is undefined");
  EXPECT_EQ(error_of([&] {
              conv1d(reshape(x, {1, 6, 2}), kernel);
            }),
            "conv1d: input has 2 channels but the kernel expects 3");
  EXPECT_EQ(error_of([&] { conv1d(x, kernel, {.padding = valid_padding}); }),
            "conv1d: a window over 5 samples does not fit into 4 (4 and padding 0 + 0)");
  EXPECT_EQ(
      error_of([&] { conv1d(x, kernel, {.padding = Padding::explicit_amounts(1, 1, 1, 1)}); }),
      "conv1d: padding must be given in front of and behind each of 1 axes, got "
      "[1, 1, 1, 1]");
}

}  // namespace
}  // namespace belfry::testing
