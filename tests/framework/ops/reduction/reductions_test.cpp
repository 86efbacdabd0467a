// Covers sum.cpp, mean, max.cpp, min, prod.cpp, argmax.cpp, argmin, sum_to and
// reduction.cpp.
#include <cmath>

#include "../support.h"

namespace belfry::testing {
namespace {

using Reduction = Tensor (*)(Tensor, ReduceOptions);

struct Layout {
  Shape x;
  ReduceOptions options;
};

const std::vector<Layout> layouts = {
    {{}, {}},
    {{7}, {}},
    {{4, 8}, {.axes = {0}}},
    {{4, 8}, {.axes = {-1}, .keep_dims = true}},
    {{2, 3, 5}, {.axes = {2, 0}}},
    {{2, 3, 5}, {.axes = {1}, .keep_dims = true}},
    {{2, 1, 3}, {.axes = {1}}},
    {{0, 3}, {.axes = {1}}},
    {{2, 1, 2, 1, 3, 1, 1, 2}, {.axes = {0, 4, 7}}},
};

TEST(Reductions, AgreeWithTheirReferenceAndDifferences) {
  const std::vector<std::pair<std::string, Reduction>> ops = {
      {"sum", sum}, {"mean", mean}, {"max", max}, {"min", min}, {"prod", prod}};
  for (const auto& [name, op] : ops)
    for (const Layout& l : layouts)
      EXPECT_EQ(check_op({.build = [&, reduce = op](const Scope&, auto x) -> std::vector<Tensor> {
                            return {reduce(x[0], l.options)};
                          },
                          .inputs = {noise(l.x)}}),
                "")
          << concat(name, l.x);
}

TEST(Reductions, PlacesOfExtremaAgreeWithTheirReference) {
  const std::vector<std::pair<Shape, int>> cases{{{7}, 0},       {{1}, 0},       {{5, 13}, 0},
                                                 {{5, 13}, 1},   {{2, 3, 4}, 0}, {{2, 3, 4}, 1},
                                                 {{2, 3, 4}, 2}, {{0, 3}, 1},    {{3, 1, 2}, 1}};
  for (auto* op : {argmax, argmin})
    for (const auto& [shape, axis] : cases)
      EXPECT_EQ(
          check_op({.build = [op = op, a = axis](const Scope&, auto x) -> std::vector<Tensor> {
                      return {op(x[0], a)};
                    },
                    .inputs = {noise(shape)},
                    .gradient = false}),
          "")
          << concat(shape, axis);
}

struct Matrix {
  Graph graph;
  Tensor x = tensor<double>(graph, {2, 3}, {1, 5, 3, 4, 2, 6});
};

TEST(Reductions, KnownValues) {
  Matrix m;
  EXPECT_EQ(sum(m.x).shape(), Shape{});
  EXPECT_THAT(values(sum(m.x)), ElementsAre(21));
  EXPECT_THAT(values(sum(m.x, {.axes = {0}})), ElementsAre(5, 7, 9));
  EXPECT_THAT(values(sum(m.x, {.axes = {1}})), ElementsAre(9, 12));
  EXPECT_EQ(sum(m.x, {.axes = {1}, .keep_dims = true}).shape(), (Shape{2, 1}));
  EXPECT_THAT(values(mean(m.x, {.axes = {-1}})), ElementsAre(3, 4));
  EXPECT_THAT(values(max(m.x, {.axes = {0}})), ElementsAre(4, 5, 6));
  EXPECT_THAT(values(min(m.x, {.axes = {1}})), ElementsAre(1, 2));
  EXPECT_THAT(values(prod(m.x, {.axes = {1}})), ElementsAre(15, 48));
  EXPECT_THAT(values(argmax(m.x, 1)), ElementsAre(1, 2));
  EXPECT_THAT(values(argmax(m.x, 0)), ElementsAre(1, 0, 1));
  EXPECT_THAT(values(argmin(m.x, -1)), ElementsAre(0, 1));
  EXPECT_EQ(argmin(m.x, -1).type(), (TensorType{{2}, DType::i64}));
}

TEST(Reductions, OfNothing) {
  Graph graph;
  Tensor x = tensor<double>(graph, {0, 2}, {});
  ReduceOptions rows{.axes = {0}};
  EXPECT_THAT(values(sum(x, rows)), ElementsAre(0, 0));
  EXPECT_THAT(values(prod(x, rows)), ElementsAre(1, 1));
  EXPECT_THAT(values(max(x, rows)), ElementsAre(-inf, -inf));
  EXPECT_THAT(values(min(x, rows)), ElementsAre(inf, inf));
  EXPECT_THAT(values(mean(x, rows)), same({nan, nan}));
}

TEST(Reductions, Integers) {
  Graph graph;
  Tensor x = tensor<std::int32_t>(graph, {3}, {2000000000, 2000000000, -7});
  EXPECT_THAT(values(sum(x)), ElementsAre(-294967303));  // 3999999993 - 2^32
  EXPECT_THAT(values(max(x)), ElementsAre(2000000000));
  EXPECT_THAT(values(min(x)), ElementsAre(-7));
  EXPECT_THAT(values(argmin(x, 0)), ElementsAre(2));
  Tensor bytes = tensor<std::uint8_t>(graph, {2}, {200, 100});
  EXPECT_THAT(values(sum(bytes)), ElementsAre(44));
  EXPECT_THAT(values(prod(bytes)), ElementsAre(32));  // 20000 - 78 * 256
}

TEST(Reductions, AccumulateInMoreThanTheirType) {
  Graph graph;
  std::vector<float> tenths(100000, 0.1f);
  Tensor x = floats(graph, {100000}, tenths);
  EXPECT_EQ(values(sum(x))[0], static_cast<double>(static_cast<float>(100000 * double{0.1f})));
  // 4096 ones: a sum in 16 bits would stop at 256 or 2048.
  Tensor ones = broadcast_to(constant(graph, 1, DType::bf16), {4096});
  EXPECT_THAT(values(sum(ones)), ElementsAre(4096));
  // The sum, 131072, is beyond f16, the mean is not.
  EXPECT_THAT(values(mean(broadcast_to(constant(graph, 32, DType::f16), {4096}))), ElementsAre(32));
}

TEST(Reductions, NanWinsAndIsFoundFirst) {
  Graph graph;
  Tensor x = tensor<double>(graph, {4}, {1, nan, 3, nan});
  EXPECT_THAT(values(max(x)), same({nan}));
  EXPECT_THAT(values(min(x)), same({nan}));
  EXPECT_THAT(values(argmax(x, 0)), ElementsAre(1));
  EXPECT_THAT(values(argmin(x, 0)), ElementsAre(1));
  EXPECT_THAT(values(argmax(tensor<double>(graph, {3}, {2, 5, 5}), 0)), ElementsAre(1));
}

TEST(Reductions, TiesShareTheGradientEvenly) {
  Graph graph;
  Tensor x = tensor<double>(graph, {2, 4}, {3, 1, 3, 2, 0, 0, 0, 0});
  ReduceOptions columns{.axes = {1}};
  EXPECT_THAT(slope(max(x, columns), x), ElementsAre(0.5, 0, 0.5, 0, 0.25, 0.25, 0.25, 0.25));
  EXPECT_THAT(slope(min(x, columns), x), ElementsAre(0, 1, 0, 0, 0.25, 0.25, 0.25, 0.25));
}

TEST(Reductions, CountTiesBeyondTheRangeOf16Bits) {
  Graph graph;
  Tensor x = broadcast_to(constant(graph, 0, DType::f16), {70000});
  EXPECT_THAT(slope(max(x), x), ::testing::Each(240 * 0x1p-24));  // 1 / 70000 in f16
}

TEST(Reductions, ProductsHaveExactGradientsWithZeros) {
  Graph graph;
  Tensor x = tensor<double>(graph, {3, 3}, {2, 3, 4, 2, 0, 4, 0, 0, 4});
  EXPECT_THAT(slope(prod(x, {.axes = {1}}), x), ElementsAre(12, 8, 6, 0, 8, 0, 0, 0, 0));
}

TEST(SumTo, UndoesBroadcasting) {
  Graph graph;
  Tensor x = tensor<double>(graph, {2, 3}, {1, 2, 3, 4, 5, 6});
  EXPECT_THAT(values(sum_to(x, {3})), ElementsAre(5, 7, 9));
  EXPECT_THAT(values(sum_to(x, {2, 1})), ElementsAre(6, 15));
  EXPECT_EQ(sum_to(x, {2, 1}).shape(), (Shape{2, 1}));
  EXPECT_THAT(values(sum_to(x, {1, 1})), ElementsAre(21));
  EXPECT_THAT(values(sum_to(x, {})), ElementsAre(21));
  EXPECT_EQ(sum_to(x, {2, 3}), x);
  EXPECT_THAT(values(sum_to(reshape(x, Shape{1, 2, 3}), {2, 3})), ElementsAre(1, 2, 3, 4, 5, 6));
  EXPECT_EQ(error_of([&] { sum_to(x, {2}); }), "sum_to: [2] does not broadcast to [2, 3]");
}

TEST(Reductions, Errors) {
  Matrix m;
  EXPECT_EQ(error_of([&] { sum(m.x, {.axes = {2}}); }),
            "sum: axis 2 is outside a tensor of rank 2");
  EXPECT_EQ(error_of([&] { max(m.x, {.axes = {1, -1}}); }), "max: axis 1 is listed twice");
  EXPECT_EQ(error_of([&] { prod(cast(m.x, DType::boolean)); }),
            "prod: expected a number type, got bool[2, 3]; cast it first");
  EXPECT_EQ(error_of([&] { mean(cast(m.x, DType::i64)); }),
            "mean: expected a floating type, got i64[2, 3]; cast it first");
  EXPECT_EQ(error_of([&] {
              argmax(tensor<double>(m.graph, {2, 0}, {}), 1);
            }),
            "argmax: axis 1 of f64[2, 0] has size 0");
}

}  // namespace
}  // namespace belfry::testing
