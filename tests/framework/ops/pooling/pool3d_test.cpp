#include <cmath>
#include <limits>

#include "../nn_support.h"

namespace belfry::testing {
namespace {

constexpr float nan = std::numeric_limits<float>::quiet_NaN();
constexpr float infinity = std::numeric_limits<float>::infinity();

// 1 to 12, but 12 in front: slices {12, 2, 3, 4}, {5, 6, 7, 8}, {9, 10, 11, 1}.
struct Small {
  Graph graph;
  Tensor x = floats(graph, {1, 3, 2, 2, 1}, {12, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 1});
};

TEST(MaxPool3d, TakesTheLargestOfEachWindow) {
  Small s;
  EXPECT_THAT(values(max_pool3d(s.x)), ElementsAre(12));
  EXPECT_THAT(values(max_pool3d(s.x, {.stride = {1, 1, 1}})), ElementsAre(12, 11));
  Tensor y = max_pool3d(s.x, {.window = {1, 2, 1}});
  EXPECT_EQ(y.shape(), (Shape{1, 2, 1, 1, 1}));
  EXPECT_THAT(values(y), ElementsAre(12, 11));
  EXPECT_THAT(values(max_pool3d(s.x, {.window = {3, 1, 1}, .stride = {1, 1, 1}})),
              ElementsAre(12, 10, 11, 8));
}

TEST(MaxPool3d, PaddingNeverWins) {
  Graph graph;
  Tensor x = floats(graph, {1, 2, 1, 1, 1}, {-3, -infinity});
  Tensor y = max_pool3d(x, {.window = {3, 3, 3}, .stride = {1, 1, 1}, .padding = same_padding});
  EXPECT_THAT(values(y), ElementsAre(-3, -3));
  y = max_pool3d(x, {.window = {2, 1, 2},
                     .stride = {2, 1, 1},
                     .padding = Padding::explicit_amounts(1, 1, 0, 0, 0, 1)});
  EXPECT_THAT(values(y), ElementsAre(-3, -infinity));
}

TEST(MaxPool3d, NanWinsAndTheFirstTakesTheGradient) {
  Graph graph;
  Tensor x = floats(graph, {1, 2, 1, 2, 1}, {infinity, nan, nan, 3});
  Tensor y = max_pool3d(x, {.window = {2, 1, 2}});
  EXPECT_TRUE(std::isnan(values(y)[0]));
  EXPECT_THAT(values(gradients(y, {&x, 1}, floats(graph, {1, 1, 1, 1, 1}, {5}))[0]),
              ElementsAre(0, 5, 0, 0));
}

// Slice by slice, and row by row in each.
TEST(MaxPool3d, GradientGoesToTheFirstMaximum) {
  Graph graph;
  Tensor x = floats(graph, {1, 3, 2, 2, 1}, {1, 2, 7, 7, 7, 1, 1, 7, 9, 9, 9, 9});
  Tensor y = max_pool3d(x, {.stride = {1, 1, 1}});
  Tensor seed = floats(graph, {1, 2, 1, 1, 1}, {10, 100});
  EXPECT_THAT(values(gradients(y, {&x, 1}, seed)[0]),
              ElementsAre(0, 0, 10, 0, 0, 0, 0, 0, 100, 0, 0, 0));
}

TEST(AvgPool3d, AveragesInsideTheVolume) {
  Small s;
  EXPECT_THAT(values(avg_pool3d(s.x)), ElementsAre(47.0 / 8));
  // The second window has one slice inside; padding in front leaves the first one alone.
  EXPECT_THAT(values(avg_pool3d(s.x, {.padding = same_padding})), ElementsAre(47.0 / 8, 31.0 / 4));
  Pool3dOptions options{.window = {2, 2, 2},
                        .stride = {2, 2, 1},
                        .padding = Padding::explicit_amounts(1, 0, 0, 0, 1, 0)};
  EXPECT_THAT(values(avg_pool3d(s.x, options)),
              ElementsAre(15.0 / 2, 21.0 / 4, 32.0 / 4, 57.0 / 8));
}

TEST(AvgPool3d, GradientSharesEvenly) {
  Small s;
  Tensor y = avg_pool3d(s.x, {.padding = same_padding});
  Tensor seed = floats(s.graph, {1, 2, 1, 1, 1}, {8, 8});
  EXPECT_THAT(values(gradients(y, {&s.x, 1}, seed)[0]),
              ElementsAre(1, 1, 1, 1, 1, 1, 1, 1, 2, 2, 2, 2));
}

struct Geometry {
  Shape x;
  Pool3dOptions options = {};
};

const std::vector<Geometry>& geometries() {
  static const std::vector<Geometry> list = {
      {{2, 4, 4, 4, 3}},
      {{1, 1, 1, 1, 1}, {.window = {1, 1, 1}, .stride = {1, 1, 1}}},
      {{1, 5, 4, 3, 2}, {.window = {3, 2, 3}, .stride = {2, 1, 2}, .padding = same_padding}},
      {{2, 3, 5, 4, 1}, {.window = {2, 3, 1}, .stride = {1, 2, 3}}},
      {{1, 4, 3, 2, 2},
       {.window = {3, 2, 2},
        .stride = {2, 1, 1},
        .padding = Padding::explicit_amounts(2, 1, 0, 1, 1, 0)}},
      {{1, 2, 2, 3, 1}, {.window = {5, 5, 5}, .stride = {1, 1, 1}, .padding = same_padding}},
      {{0, 4, 4, 4, 2}},
  };
  return list;
}

using Pool = Tensor (*)(Tensor, Pool3dOptions);

TEST(Pool3d, PassesCheckOp) {
  for (Pool pool : {&max_pool3d, &avg_pool3d})
    for (const Geometry& g : geometries()) {
      SCOPED_TRACE(to_string(g.x));
      EXPECT_EQ(
          check_op({.build = [&](const Scope&, std::span<const Tensor> in) -> std::vector<Tensor> {
                      return {pool(in[0], g.options)};
                    },
                    .inputs = {noise(g.x)}}),
          "");
    }
}

// The pool of two axes, on volumes with a window of one slice.
TEST(Pool3d, OfOneSliceIsThePoolOfEachSlice) {
  Graph graph;
  Tensor x = constant(graph, noise({2, 3, 5, 4, 2}));
  Tensor images = reshape(x, {6, 5, 4, 2});
  Pool3dOptions options{.window = {1, 3, 2}, .stride = {1, 2, 2}, .padding = same_padding};
  Pool2dOptions plane{.window = {3, 2}, .stride = {2, 2}, .padding = same_padding};
  EXPECT_EQ(values(max_pool3d(x, options)), values(max_pool(images, plane)));
  EXPECT_EQ(values(avg_pool3d(x, options)), values(avg_pool(images, plane)));
}

TEST(Pool3d, OneNumberIsForAllAxes) {
  Graph graph;
  Tensor x = constant(graph, Array::zeros({1, 9, 9, 9, 2}));
  EXPECT_EQ(max_pool3d(x, {.window = 3}).shape(), (Shape{1, 4, 4, 4, 2}));
  EXPECT_EQ(avg_pool3d(x, {.stride = 4}).shape(), (Shape{1, 2, 2, 2, 2}));
}

TEST(Pool3d, ErrorsSayWhatDoesNotFit) {
  Graph graph;
  Tensor x = constant(graph, Array::zeros({1, 2, 4, 3, 1}));
  EXPECT_EQ(error_of([&] {
              max_pool3d(x, {.window = {3, 2, 2}});
            }),
            "max_pool3d: a window over 3 slices does not fit into 2 (2 and padding 0 + 0)");
  EXPECT_EQ(
      error_of([&] { avg_pool3d(x, {.padding = Padding::explicit_amounts(0, 2, 0, 0, 0, 0)}); }),
      "avg_pool3d: padding 0 + 2 of slices must be less than the window of 2, or some "
      "windows would be empty");
  EXPECT_EQ(error_of([&] { avg_pool3d(x, {.padding = Padding::explicit_amounts(1, 1, 1, 1)}); }),
            "avg_pool3d: padding must be given in front of and behind each of 3 axes, got "
            "[1, 1, 1, 1]");
  EXPECT_EQ(
      error_of([&] {
        max_pool3d(reshape(x, {2, 4, 3, 1}));
      }),
      "max_pool3d: input must be [n, d, h, w, c], got f32[2, 4, 3, 1]; if the axis of the batch "
      "is missing, put batch() behind the dataset, else use max_pool");
}

}  // namespace
}  // namespace belfry::testing
