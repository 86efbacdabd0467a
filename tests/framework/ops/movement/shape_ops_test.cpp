// Covers reshape.cpp, flatten, transpose.cpp, broadcast_to.cpp, concat.cpp, split,
// stack.cpp, tile, slice.cpp, pad.cpp, cast.cpp, stop_gradient and strided_walk.h.
#include <functional>

#include "../support.h"

namespace belfry::testing {
namespace {

using Build = std::function<std::vector<Tensor>(std::span<const Tensor>)>;

std::string check(const Build& build, std::vector<Array> inputs) {
  return check_op(
      {.build = [&](const Scope&, auto x) { return build(x); }, .inputs = std::move(inputs)});
}

struct Matrix {
  Graph graph;
  Tensor x = tensor<double>(graph, {2, 3}, {1, 2, 3, 4, 5, 6});
};

TEST(Reshape, KeepsTheElements) {
  Matrix m;
  EXPECT_EQ(reshape(m.x, Shape{3, 2}).shape(), (Shape{3, 2}));
  EXPECT_THAT(values(reshape(m.x, Shape{3, 2})), ElementsAre(1, 2, 3, 4, 5, 6));
  EXPECT_EQ(reshape(m.x, {-1, 2}).shape(), (Shape{3, 2}));
  EXPECT_EQ(reshape(m.x, {1, 6, -1}).shape(), (Shape{1, 6, 1}));
  EXPECT_EQ(reshape(m.x, {2, 3}), m.x);
  EXPECT_EQ(flatten(reshape(m.x, {1, 3, 2})).shape(), (Shape{1, 6}));
  Tensor none = tensor<double>(m.graph, {0, 4, 5}, {});
  EXPECT_EQ(flatten(none).shape(), (Shape{0, 20}));
  EXPECT_EQ(reshape(none, {-1, 20}).shape(), (Shape{0, 20}));
  for (const Shape& shape : {Shape{6}, Shape{3, 2}, Shape{1, 2, 1, 3}})
    EXPECT_EQ(check([&](auto x) { return std::vector{reshape(x[0], shape)}; }, {noise({2, 3})}),
              "");
}

TEST(Reshape, Errors) {
  Matrix m;
  EXPECT_EQ(error_of([&] { reshape(m.x, Shape{4}); }),
            "reshape: f64[2, 3] has 6 elements but the shape [4] has 4");
  EXPECT_EQ(error_of([&] {
              reshape(m.x, {-1, 4});
            }),
            "reshape: f64[2, 3] has 6 elements, which [-1, 4] cannot hold for any size in place of "
            "-1");
  EXPECT_EQ(error_of([&] {
              reshape(m.x, {-1, -1});
            }),
            "reshape: more than one size is -1 in [-1, -1]");
  EXPECT_EQ(error_of([&] {
              reshape(m.x, {-2, 3});
            }),
            "reshape: a size is -2; sizes are at least 0, or -1 for one");
  EXPECT_EQ(error_of([&] { flatten(tensor<double>(m.graph, {}, {1})); }),
            "flatten: expected [n, ...], got a scalar");
}

TEST(Transpose, MovesAxes) {
  Matrix m;
  EXPECT_THAT(values(transpose(m.x)), ElementsAre(1, 4, 2, 5, 3, 6));
  Tensor cube = tensor<double>(m.graph, {2, 1, 3}, {1, 2, 3, 4, 5, 6});
  EXPECT_EQ(transpose(cube, {2, 0, 1}).shape(), (Shape{3, 2, 1}));
  EXPECT_THAT(values(transpose(cube, {2, 0, 1})), ElementsAre(1, 4, 2, 5, 3, 6));
  EXPECT_EQ(transpose(m.x, {0, 1}), m.x);
  EXPECT_EQ(check(
                [](auto x) {
                  return std::vector{transpose(x[0], {1, 3, 0, 2})};
                },
                {noise({2, 3, 5, 4})}),
            "");
  EXPECT_EQ(check([](auto x) { return std::vector{transpose(x[0])}; }, {noise({0, 3})}), "");
  EXPECT_EQ(error_of([&] {
              transpose(m.x, {0, 0});
            }),
            "transpose: [0, 0] is no permutation of the axes of f64[2, 3]; list each of 0..1 once");
}

TEST(BroadcastTo, RepeatsAlongAxes) {
  Matrix m;
  Tensor column = tensor<double>(m.graph, {2, 1}, {7, 8});
  EXPECT_THAT(values(broadcast_to(column, {2, 3})), ElementsAre(7, 7, 7, 8, 8, 8));
  EXPECT_THAT(values(broadcast_to(column, {2, 2, 1})), ElementsAre(7, 8, 7, 8));
  for (const auto& [from, to] : std::vector<std::pair<Shape, Shape>>{
           {{}, {2, 3}}, {{3, 1}, {2, 3, 5}}, {{1}, {0}}, {{0, 1}, {0, 4}}})
    EXPECT_EQ(
        check([&, to = to](auto x) { return std::vector{broadcast_to(x[0], to)}; }, {noise(from)}),
        "")
        << concat(from, to);
  EXPECT_EQ(error_of([&] { broadcast_to(m.x, {3}); }),
            "broadcast_to: f64[2, 3] does not broadcast to [3]");
}

TEST(Concat, JoinsAlongAnAxis) {
  Matrix m;
  Tensor row = tensor<double>(m.graph, {1, 3}, {7, 8, 9});
  Tensor column = tensor<double>(m.graph, {2, 1}, {7, 8});
  Tensor none = tensor<double>(m.graph, {2, 0}, {});
  EXPECT_THAT(values(concat({m.x, row}, 0)), ElementsAre(1, 2, 3, 4, 5, 6, 7, 8, 9));
  EXPECT_THAT(values(concat({column, m.x, none}, -1)), ElementsAre(7, 1, 2, 3, 8, 4, 5, 6));
  EXPECT_EQ(concat({m.x}, 0), m.x);
  EXPECT_EQ(check(
                [](auto x) {
                  return std::vector{concat({x[0], x[1], x[0]}, 1)};
                },
                {noise({2, 3, 2}), noise({2, 1, 2})}),
            "");
  EXPECT_EQ(check(
                [](auto x) {
                  return std::vector{concat({x[0], x[1]}, 1)};
                },
                {noise({0, 3}), noise({0, 1})}),
            "");
  EXPECT_EQ(error_of([&] {
              concat({m.x, column}, 0);
            }),
            "concat: part 0 is f64[2, 3] but part 1 is f64[2, 1]; parts may differ in size along "
            "axis 0 only");
  EXPECT_EQ(error_of([&] { concat({}, 0); }), "concat: no parts; pass at least 1");
}

TEST(Split, UndoesConcat) {
  Matrix m;
  auto parts = split(m.x, std::vector<std::int64_t>{1, 0, 2}, 1);
  ASSERT_EQ(parts.size(), 3u);
  EXPECT_THAT(values(parts[0]), ElementsAre(1, 4));
  EXPECT_EQ(parts[1].shape(), (Shape{2, 0}));
  EXPECT_THAT(values(parts[2]), ElementsAre(2, 3, 5, 6));
  EXPECT_THAT(values(split(m.x, 3, -1)[1]), ElementsAre(2, 5));
  EXPECT_EQ(check(
                [](auto x) {
                  return split(x[0], std::vector<std::int64_t>{1, 3}, 0);
                },
                {noise({4, 3})}),
            "");
  EXPECT_EQ(error_of([&] {
              split(m.x, std::vector<std::int64_t>{1, 1}, 1);
            }),
            "split: the sizes [1, 1] add up to 2 but axis 1 of f64[2, 3] has size 3");
  EXPECT_EQ(error_of([&] { split(m.x, 2, 1); }),
            "split: axis 1 of f64[2, 3] has size 3, which cannot be split into 2 equal pieces");
}

TEST(Stack, AddsAnAxis) {
  Graph graph;
  Tensor a = tensor<double>(graph, {2}, {1, 2}), b = tensor<double>(graph, {2}, {3, 4});
  EXPECT_EQ(stack({a, b, a}).shape(), (Shape{3, 2}));
  EXPECT_THAT(values(stack({a, b})), ElementsAre(1, 2, 3, 4));
  EXPECT_THAT(values(stack({a, b}, -1)), ElementsAre(1, 3, 2, 4));
  EXPECT_EQ(check(
                [](auto x) {
                  return std::vector{stack({x[0], x[1]}, 1)};
                },
                {noise({2, 3}, 1), noise({2, 3}, 2)}),
            "");
  EXPECT_EQ(error_of([&] {
              stack({a, stack({a})});
            }),
            "stack: part 0 is f64[2] but part 1 is f64[1, 2]; parts must be alike");
}

TEST(Tile, RepeatsEachAxis) {
  Graph graph;
  Tensor x = tensor<double>(graph, {2, 1}, {1, 2});
  EXPECT_THAT(values(tile(x, {2, 3})), ElementsAre(1, 1, 1, 2, 2, 2, 1, 1, 1, 2, 2, 2));
  EXPECT_EQ(tile(x, {0, 3}).shape(), (Shape{0, 3}));
  EXPECT_EQ(tile(x, {1, 1}), x);
  EXPECT_EQ(check(
                [](auto x) {
                  return std::vector{tile(x[0], {2, 1, 3})};
                },
                {noise({3, 5, 2})}),
            "");
  EXPECT_EQ(tile(broadcast_to(x, {1, 1, 1, 1, 1, 1, 2, 1}), {1, 1, 1, 1, 1, 1, 2, 2}).shape(),
            (Shape{1, 1, 1, 1, 1, 1, 4, 2}));
  EXPECT_EQ(error_of([&] { tile(x, {2}); }),
            "tile: 1 counts for f64[2, 1]; pass one for each axis");
  EXPECT_EQ(error_of([&] { tile(x, {2, -1}); }), "tile: axis 1 has the negative count -1");
}

TEST(Slice, PicksABlock) {
  Matrix m;
  EXPECT_THAT(values(slice(m.x, {.begin = {1, 0}, .size = {1, 2}})), ElementsAre(4, 5));
  EXPECT_THAT(values(slice(m.x, {.begin = {0, 1}, .size = {-1, -1}})), ElementsAre(2, 3, 5, 6));
  EXPECT_THAT(values(slice(m.x, {.begin = {0, 0}, .size = {-1, -1}, .strides = {1, 2}})),
              ElementsAre(1, 3, 4, 6));
  EXPECT_EQ(slice(m.x, {.begin = {2, 3}, .size = {-1, 0}}).shape(), (Shape{0, 0}));
  EXPECT_EQ(slice(m.x, {.begin = {0, 0}, .size = {-1, -1}}), m.x);
}

TEST(Slice, GradientsPutElementsBack) {
  const std::vector<SliceOptions> options = {
      {.begin = {1, 2}, .size = {3, 4}},
      {.begin = {0, 0}, .size = {-1, -1}, .strides = {2, 3}},
      {.begin = {1, 1}, .size = {2, 2}, .strides = {3, 4}},
      {.begin = {4, 0}, .size = {1, -1}, .strides = {7, 5}},
      {.begin = {5, 0}, .size = {0, 3}},
  };
  for (const SliceOptions& o : options)
    EXPECT_EQ(check([&](auto x) { return std::vector{slice(x[0], o)}; }, {noise({5, 7})}), "")
        << join(o.begin, ",");
  Matrix m;
  EXPECT_THAT(slope(slice(m.x, {.begin = {1, 0}, .size = {1, 2}, .strides = {1, 2}}), m.x),
              ElementsAre(0, 0, 0, 1, 0, 1));
}

TEST(Slice, Errors) {
  Matrix m;
  EXPECT_EQ(error_of([&] {
              slice(m.x, {.begin = {0, 1}, .size = {2, 3}});
            }),
            "slice: 3 elements from 1 on with stride 1 are not inside axis 1 of f64[2, 3]");
  EXPECT_EQ(
      error_of([&] {
        slice(m.x, {.begin = {0}, .size = {2, 3}});
      }),
      "slice: 1 begins, 2 sizes and 0 strides for a tensor of shape [2, 3]; pass one for each "
      "axis (strides may be empty)");
  EXPECT_EQ(error_of([&] {
              slice(m.x, {.begin = {0, 0}, .size = {2, 3}, .strides = {1, 0}});
            }),
            "slice: axis 1 has the stride 0; strides are at least 1");
  EXPECT_EQ(error_of([&] {
              slice(m.x, {.begin = {0, 0}, .size = {2, -2}});
            }),
            "slice: axis 1 has the size -2; sizes are at least 0, or -1 for up to the end");
  EXPECT_EQ(error_of([&] {
              slice(m.x, {.begin = {0, -1}, .size = {2, 1}});
            }),
            "slice: 1 elements from -1 on with stride 1 are not inside axis 1 of f64[2, 3]");
}

TEST(Pad, AddsABorder) {
  Matrix m;
  EXPECT_THAT(values(pad(m.x, {.before = {0, 1}, .after = {1, 0}, .value = 9})),
              ElementsAre(9, 1, 2, 3, 9, 4, 5, 6, 9, 9, 9, 9));
  EXPECT_EQ(pad(m.x, {.before = {0, 0}, .after = {0, 0}}), m.x);
  Tensor none = tensor<double>(m.graph, {0}, {});
  EXPECT_THAT(values(pad(none, {.before = {1}, .after = {1}, .value = 2})), ElementsAre(2, 2));
  EXPECT_EQ(
      check(
          [](auto x) {
            return std::vector{pad(x[0], {.before = {1, 0, 2}, .after = {0, 3, 1}, .value = 0.5})};
          },
          {noise({2, 3, 5})}),
      "");
  EXPECT_EQ(error_of([&] {
              pad(m.x, {.before = {0}, .after = {0, 0}});
            }),
            "pad: 1 amounts before and 2 after for f64[2, 3]; pass one for each axis");
  EXPECT_EQ(
      error_of([&] {
        pad(m.x, {.before = {0, -1}, .after = {0, 0}});
      }),
      "pad: axis 1 has the amounts -1 and 0; they are at least 0 (slice takes elements away)");
  EXPECT_EQ(error_of([&] {
              pad(cast(m.x, DType::u8), {.before = {1, 0}, .after = {0, 0}, .value = 256});
            }),
            "pad: 256 is no value of u8");
}

TEST(Cast, ConvertsEachType) {
  Graph graph;
  Tensor x = tensor<double>(graph, {5}, {-1.7, 0, 1.7, 300.5, -0.2});
  EXPECT_THAT(values(cast(x, DType::i32)), ElementsAre(-1, 0, 1, 300, 0));
  EXPECT_THAT(values(cast(x, DType::u8)), ElementsAre(0, 0, 1, 255, 0));
  EXPECT_THAT(values(cast(x, DType::boolean)), ElementsAre(1, 0, 1, 1, 1));
  EXPECT_THAT(values(cast(x, DType::f32)), ElementsAre(-1.7f, 0, 1.7f, 300.5, -0.2f));
  EXPECT_THAT(values(cast(tensor(graph, {2}, {true, false}), DType::f16)), ElementsAre(1, 0));
  EXPECT_THAT(values(cast(tensor<std::int64_t>(graph, {1}, {257}), DType::u8)), ElementsAre(1));
  EXPECT_EQ(cast(x, DType::f64), x);
}

TEST(Cast, SaturatesWhereAFloatIsOutOfRange) {
  Graph graph;
  Tensor x = tensor<double>(graph, {5}, {1e30, -1e30, inf, -inf, nan});
  constexpr std::int64_t high = std::numeric_limits<std::int64_t>::max();
  constexpr std::int64_t low = std::numeric_limits<std::int64_t>::min();
  Array wide = evaluate({cast(x, DType::i64)}, {}, {.fast = false})[0];
  EXPECT_THAT(wide.span<std::int64_t>(), ElementsAre(high, low, high, low, 0));
  EXPECT_THAT(values(cast(x, DType::i32)),
              ElementsAre(2147483647, -2147483648.0, 2147483647, -2147483648.0, 0));
  Tensor border = tensor<float>(graph, {2}, {0x1p31f, -0x1p31f});
  EXPECT_THAT(values(cast(border, DType::i32)), ElementsAre(2147483647, -2147483648.0));
}

TEST(Cast, PassesGradientsBetweenFloatingTypes) {
  Graph graph;
  Tensor x = tensor<double>(graph, {2}, {1.5, 2});
  EXPECT_THAT(slope(square(cast(x, DType::f32)), x), ElementsAre(3, 4));
  Tensor y = cast(cast(x, DType::i64), DType::f64);
  EXPECT_FALSE(gradients(sum(y), std::vector<Tensor>{x})[0].defined());
}

TEST(StopGradient, IsTheIdentity) {
  Graph graph;
  Tensor x = tensor<double>(graph, {2}, {3, 4});
  EXPECT_THAT(values(stop_gradient(x)), ElementsAre(3, 4));
  EXPECT_THAT(slope(stop_gradient(x) * x, x), ElementsAre(3, 4));
}

}  // namespace
}  // namespace belfry::testing
