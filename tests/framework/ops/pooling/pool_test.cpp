// Covers max_pool.cpp, max_pool_grad.cpp, max_pool_gather.cpp, avg_pool.cpp, avg_pool_grad.cpp and
// global_pool.cpp.
#include <cmath>
#include <limits>

#include "../nn_support.h"

namespace belfry::testing {
namespace {

constexpr float nan = std::numeric_limits<float>::quiet_NaN();
constexpr float infinity = std::numeric_limits<float>::infinity();

struct Small {
  Graph graph;
  Tensor x = floats(graph, {1, 3, 3, 1}, {1, 2, 3, 4, 5, 6, 7, 8, 9});
};

TEST(MaxPool, TakesTheLargestOfEachWindow) {
  Small s;
  EXPECT_THAT(values(max_pool(s.x)), ElementsAre(5));
  EXPECT_THAT(values(max_pool(s.x, {.stride = {1, 1}})), ElementsAre(5, 6, 8, 9));
  EXPECT_THAT(values(max_pool(s.x, {.padding = same_padding})), ElementsAre(5, 6, 8, 9));
  EXPECT_THAT(values(max_pool(s.x, {.window = {3, 1}, .stride = {1, 1}, .padding = valid_padding})),
              ElementsAre(7, 8, 9));
}

TEST(MaxPool, PaddingNeverWins) {
  Graph graph;
  Tensor x = floats(graph, {1, 1, 2, 1}, {-3, -infinity});
  Tensor y = max_pool(x, {.window = {3, 3}, .stride = {1, 1}, .padding = same_padding});
  EXPECT_THAT(values(y), ElementsAre(-3, -3));
  y = max_pool(x, {.stride = {1, 1}, .padding = Padding::explicit_amounts(1, 0, 0, 1)});
  EXPECT_THAT(values(y), ElementsAre(-3, -infinity));
}

TEST(MaxPool, NanWins) {
  Graph graph;
  Tensor x = floats(graph, {1, 1, 4, 1}, {infinity, nan, nan, 3});
  Node& node = max_pool(x, {.window = {1, 4}, .stride = {1, 1}}).node();
  EXPECT_TRUE(std::isnan(values(Tensor(node))[0]));
  EXPECT_THAT(values(Tensor(node, 1)), ElementsAre(1));
}

TEST(MaxPool, IndexNamesTheFirstMaximumInTheWindow) {
  Graph graph;
  Tensor x = floats(graph, {1, 2, 3, 1}, {1, 7, 7, 7, 2, 7});
  Node& node = max_pool(x, {.stride = {1, 1}}).node();
  EXPECT_EQ(node.output(1), (TensorType{{1, 1, 2, 1}, DType::u8}));
  EXPECT_THAT(values(Tensor(node, 1)), ElementsAre(1, 0));
  // With padding, places still count from the window's corner.
  Node& padded =
      max_pool(x, {.stride = {2, 2}, .padding = Padding::explicit_amounts(1, 1, 1, 0)}).node();
  EXPECT_THAT(values(Tensor(padded, 1)), ElementsAre(3, 2, 1, 1));
}

TEST(MaxPool, GradientGoesToTheFirstMaximum) {
  Graph graph;
  Tensor x = floats(graph, {1, 2, 3, 1}, {1, 7, 7, 7, 2, 7});
  Tensor y = max_pool(x, {.stride = {1, 1}});
  Tensor seed = floats(graph, {1, 1, 2, 1}, {10, 100});
  EXPECT_THAT(values(gradients(y, {&x, 1}, seed)[0]), ElementsAre(0, 110, 0, 0, 0, 0));
}

TEST(MaxPool, WindowsAbove256ElementsCountInI32) {
  Graph graph;
  Array ramp(Shape{1, 17, 17, 1}, DType::f32);
  float next = 0;
  for (float& x : ramp.span<float>()) x = next++;
  Tensor x = constant(graph, ramp);
  Tensor y = max_pool(x, {.window = {17, 17}, .stride = {1, 1}});
  EXPECT_EQ(y.node().output(1).dtype, DType::i32);
  EXPECT_THAT(values(Tensor(y.node(), 1)), ElementsAre(288));
  std::vector<double> dx = values(gradients(sum(y), {&x, 1})[0]);
  EXPECT_EQ(dx[288], 1);
  EXPECT_EQ(dx[287], 0);
}

TEST(AvgPool, AveragesInsideTheImage) {
  Small s;
  EXPECT_THAT(values(avg_pool(s.x)), ElementsAre(3));
  EXPECT_THAT(values(avg_pool(s.x, {.padding = same_padding})), ElementsAre(3, 4.5, 7.5, 9));
  Pool2dOptions options{
      .window = {3, 3}, .stride = {2, 2}, .padding = Padding::explicit_amounts(1, 1, 1, 1)};
  EXPECT_THAT(values(avg_pool(s.x, options)), ElementsAre(3, 4, 6, 7));
}

TEST(AvgPool, GradientSharesEvenly) {
  Small s;
  Tensor y = avg_pool(s.x, {.padding = same_padding});
  Tensor seed = floats(s.graph, {1, 2, 2, 1}, {4, 4, 4, 4});
  EXPECT_THAT(values(gradients(y, {&s.x, 1}, seed)[0]), ElementsAre(1, 1, 2, 1, 1, 2, 2, 2, 4));
}

TEST(GlobalPool, ReducesSpace) {
  Graph graph;
  Tensor x = floats(graph, {2, 1, 2, 2}, {1, 10, 3, 30, -1, -10, -3, -30});
  EXPECT_EQ(global_avg_pool(x).shape(), (Shape{2, 2}));
  EXPECT_THAT(values(global_avg_pool(x)), ElementsAre(2, 20, -2, -20));
  EXPECT_THAT(values(global_max_pool(x)), ElementsAre(3, 30, -1, -10));
  EXPECT_THAT(values(global_avg_pool(reshape(x, {2, 2, 2}))), ElementsAre(2, 20, -2, -20));
  EXPECT_THAT(values(global_max_pool(reshape(x, {1, 2, 1, 2, 2}))), ElementsAre(3, 30));
}

struct Geometry {
  Shape x;
  Pool2dOptions options = {};
};

const std::vector<Geometry>& geometries() {
  static const std::vector<Geometry> list = {
      {{2, 4, 4, 8}},
      {{1, 1, 1, 1}, {.window = {1, 1}, .stride = {1, 1}}},
      {{1, 5, 7, 3}, {.window = {3, 3}, .stride = {2, 2}, .padding = same_padding}},
      {{2, 7, 5, 1}, {.window = {2, 3}, .stride = {3, 2}}},
      {{1, 7, 7, 2}, {.window = {2, 1}, .stride = {4, 3}, .padding = same_padding}},
      {{1, 5, 4, 2},
       {.window = {3, 2}, .stride = {1, 2}, .padding = Padding::explicit_amounts(2, 0, 1, 1)}},
      {{1, 2, 3, 2}, {.window = {5, 5}, .stride = {1, 1}, .padding = same_padding}},
      {{0, 4, 4, 2}},
  };
  return list;
}

using Pool = Tensor (*)(Tensor, Pool2dOptions);

TEST(Pool, PassesCheckOp) {
  for (Pool pool : {&max_pool, &avg_pool})
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

TEST(Pool, SecondDerivativesPassCheckOp) {
  for (Pool pool : {&max_pool, &avg_pool})
    for (const Geometry& g : geometries()) {
      SCOPED_TRACE(to_string(g.x));
      EXPECT_EQ(check_op({.build =
                              [&](const Scope&, std::span<const Tensor> in) {
                                return square_gradients(pool(in[0], g.options), in);
                              },
                          .inputs = {noise(g.x)}}),
                "");
    }
}

TEST(GlobalPool, PassesCheckOp) {
  for (Tensor (*pool)(Tensor) : {&global_avg_pool, &global_max_pool})
    for (const Shape& shape :
         {Shape{2, 3, 5, 4}, Shape{1, 1, 1, 1}, Shape{0, 3, 5, 2}, Shape{2, 3, 2, 2, 3}})
      EXPECT_EQ(
          check_op({.build = [&](const Scope&, std::span<const Tensor> in) -> std::vector<Tensor> {
                      return {pool(in[0])};
                    },
                    .inputs = {noise(shape)}}),
          "");
}

TEST(Pool, OneNumberIsForBothAxes) {
  Graph graph;
  Tensor x = constant(graph, Array::zeros({1, 9, 9, 2}));
  EXPECT_EQ(max_pool(x, {.window = 3}).shape(), (Shape{1, 4, 4, 2}));
  EXPECT_EQ(avg_pool(x, {.window = {3, 1}, .stride = 1}).shape(), (Shape{1, 7, 9, 2}));
}

TEST(Pool, ErrorsSayWhatDoesNotFit) {
  Graph graph;
  Tensor x = constant(graph, Array::zeros({1, 4, 3, 2}));
  EXPECT_EQ(error_of([&] {
              max_pool(x, {.window = {2, 4}});
            }),
            "max_pool: a window over 4 columns does not fit into 3 (3 and padding 0 + 0)");
  EXPECT_EQ(error_of([&] { avg_pool(x, {.padding = Padding::explicit_amounts(0, 2, 0, 0)}); }),
            "avg_pool: padding 0 + 2 of rows must be less than the window of 2, or some windows "
            "would be empty");
  EXPECT_EQ(error_of([&] {
              max_pool(x, {.window = {0, 2}});
            }),
            "max_pool: the window has 0 rows; at least 1 is needed");
  constexpr std::int64_t huge = std::int64_t{1} << 31;
  EXPECT_EQ(error_of([&] {
              max_pool(x, {.window = {huge, 2}, .padding = same_padding});
            }),
            "max_pool: the window has 2147483648 rows; at most 2147483647 are possible");
  EXPECT_EQ(error_of([&] {
              avg_pool(x, {.stride = {2, huge}});
            }),
            "avg_pool: stride of columns must be at most 2147483647, got 2147483648");
  EXPECT_EQ(error_of([&] { avg_pool(x, {.padding = Padding::explicit_amounts(0, 0, 0, huge)}); }),
            "avg_pool: padding must be at most 2147483647, got [0, 0, 0, 2147483648]");
  EXPECT_EQ(error_of([&] {
              max_pool(x, {.window = {46341, 46341}, .padding = same_padding});
            }),
            "max_pool: a window of 46341 x 46341; its places are counted in 32 bits");
  EXPECT_EQ(
      max_pool(x, {.window = {46340, 46340}, .stride = {1, huge - 1}, .padding = same_padding})
          .shape(),
      (Shape{1, 4, 1, 2}));
  EXPECT_EQ(error_of([&] {
              avg_pool(reshape(x, Shape{4, 6}));
            }),
            "avg_pool: input must be [n, h, w, c], got f32[4, 6]");
  EXPECT_EQ(error_of([&] {
              max_pool(reshape(x, Shape{1, 2, 2, 3, 2}));
            }),
            "max_pool: input must be [n, h, w, c], got f32[1, 2, 2, 3, 2]; use max_pool3d");
  EXPECT_EQ(error_of([&] { max_pool(cast(x, DType::i32)); }),
            "max_pool: input must be floating, got i32[1, 4, 3, 2]; cast it");
  EXPECT_EQ(
      error_of([&] {
        global_avg_pool(reshape(x, Shape{4, 6}));
      }),
      "global_avg_pool: input must be [n, w, c], [n, h, w, c] or [n, d, h, w, c], got f32[4, 6]");
  EXPECT_EQ(error_of([&] {
              global_max_pool(constant(graph, Array::zeros({2, 0, 3, 1})));
            }),
            "global_max_pool: the image is 0 x 3; it must have at least one element");
}

}  // namespace
}  // namespace belfry::testing
